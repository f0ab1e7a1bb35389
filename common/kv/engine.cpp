#include "common/kv/engine.h"

#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <utility>

namespace tidemark::kv {

Result<std::optional<std::string>> Engine::get(std::string_view key) const { return snapshot()->get(key); }

Task<Result<void>> Engine::transact(TransactionBody body, const FailStep* step) {
  if (step != nullptr) step->before.reach();
  auto initiate = [this](auto handler, TransactionBody transaction) {
    // The caller's context must not run out of work while the writer has the transaction.
    auto executor = asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
    // std::function must copy: the handler lives in a shared cell.
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    Completion done = [cell, executor](Result<void> outcome) {
      asio::post(executor, [cell, outcome = std::move(outcome)]() mutable {
        // Moved out, so that whichever thread lets go of the cell last destroys an empty handler.
        auto resume = std::move(*cell);
        resume(std::move(outcome));
      });
    };
    submit(std::move(transaction), std::move(done));
  };
  auto operation = asio::async_initiate<decltype(asio::use_awaitable), void(Result<void>)>(
      initiate, asio::use_awaitable, std::move(body));
  auto outcome = co_await std::move(operation);
  if (step != nullptr && outcome) step->after.reach();
  co_return outcome;
}

Task<std::vector<Result<void>>> Engine::transact_all(std::vector<TransactionBody> bodies, const FailStep* step) {
  std::vector<Result<void>> outcomes;
  if (bodies.empty()) co_return outcomes;
  if (step != nullptr) step->before.reach();
  auto initiate = [this](auto handler, std::vector<TransactionBody> transactions) {
    struct Shared {
      std::vector<Result<void>> outcomes;
      std::atomic<std::size_t> left;
    };
    auto executor = asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    auto shared = std::make_shared<Shared>();
    shared->outcomes.resize(transactions.size());
    shared->left = transactions.size();
    for (std::size_t i = 0; i < transactions.size(); ++i) {
      Completion done = [cell, executor, shared, i](Result<void> outcome) {
        shared->outcomes[i] = std::move(outcome);
        if (--shared->left > 0) return;
        asio::post(executor, [cell, shared] {
          auto resume = std::move(*cell);
          resume(std::move(shared->outcomes));
        });
      };
      submit(std::move(transactions[i]), std::move(done));
    }
  };
  auto operation = asio::async_initiate<decltype(asio::use_awaitable), void(std::vector<Result<void>>)>(
      initiate, asio::use_awaitable, std::move(bodies));
  outcomes = co_await std::move(operation);
  if (step != nullptr) step->after.reach();
  co_return outcomes;
}

}  // namespace tidemark::kv
