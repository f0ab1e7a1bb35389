#include "common/kv/engine.h"

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

}  // namespace tidemark::kv
