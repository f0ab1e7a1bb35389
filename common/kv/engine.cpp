#include "common/kv/engine.h"

#include <algorithm>
#include <atomic>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <future>
#include <utility>

#include "common/kv/transact_together.h"

namespace tidemark::kv {

Result<void> Reader::get_all(std::span<const std::string> keys, const Told& told) const {
  for (std::size_t i = 0; i < keys.size(); ++i) TRY(told(i, TRY(get(keys[i]))));
  return {};
}

Result<std::optional<std::string>> Engine::get(std::string_view key) const { return snapshot()->get(key); }

namespace {

const FailPoint kFirstTold("kv.complete", "first");  // in a group, before its other members are told

/// The executor on which the caller resumes. It must not run out of work while the engine has the transaction.
template <class Handler>
Executor executor_of(const Handler& handler) {
  return asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
}

}  // namespace

void Completion::operator()(Result<void> outcome) {
  if (!executor_) return call_(std::move(outcome));
  auto executor = std::move(executor_);
  asio::post(executor, [call = std::move(call_), outcome = std::move(outcome)]() mutable { call(std::move(outcome)); });
}

void Completion::deliver(std::vector<Due> group) {
  for (auto first = group.begin();;) {
    first = std::find_if(first, group.end(), [](const Due& due) { return due.completion && due.completion.executor_; });
    if (first == group.end()) break;
    const auto executor = first->completion.executor_;
    std::vector<Due> together;
    for (auto due = first; due != group.end(); ++due) {
      if (due->completion && due->completion.executor_ == executor) together.push_back(std::exchange(*due, {}));
    }
    asio::post(executor, [together = std::move(together)]() mutable {
      for (auto& due : together) due.completion.call_(std::move(due.outcome));
    });
    kFirstTold.reach();
  }
  for (auto& due : group) {
    if (due.completion) due.completion(std::move(due.outcome));
  }
}

void Engine::drain() {
  std::promise<void> told;
  const auto drained = told.get_future();
  // An erasure is told after all earlier transactions, even while transactions are refused.
  erase_ranges({}, [told = std::move(told)](const Result<void>&) mutable { told.set_value(); });
  drained.wait();
}

Task<Result<void>> Engine::transact(TransactionBody body, const FailStep* step) {
  if (step != nullptr) step->before.reach();
  auto initiate = [this](auto handler, TransactionBody transaction) {
    auto executor = executor_of(handler);
    auto resume = [handler = std::move(handler)](Result<void> outcome) mutable {
      std::move(handler)(std::move(outcome));
    };
    submit(std::move(transaction), Completion(std::move(executor), std::move(resume)));
  };
  auto outcome = co_await asio::async_initiate<decltype(asio::use_awaitable), void(Result<void>)>(
      initiate, asio::use_awaitable, std::move(body));
  if (step != nullptr && outcome) step->after.reach();
  co_return outcome;
}

Task<Result<void>> Engine::erase(std::vector<KeyRange> ranges) {
  auto initiate = [this](auto handler, std::vector<KeyRange> all) {
    auto executor = executor_of(handler);
    auto resume = [handler = std::move(handler)](Result<void> outcome) mutable {
      std::move(handler)(std::move(outcome));
    };
    erase_ranges(std::move(all), Completion(std::move(executor), std::move(resume)));
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Result<void>)>(
      initiate, asio::use_awaitable, std::move(ranges));
}

Task<std::vector<Result<void>>> Engine::transact_all(std::vector<TransactionBody> bodies, const FailStep* step) {
  std::vector<Submission> all;
  all.reserve(bodies.size());
  for (auto& body : bodies) all.push_back({this, std::move(body)});
  return transact_together(std::move(all), step);
}

Task<std::vector<Result<void>>> transact_together(std::vector<Submission> all, const FailStep* step) {
  std::vector<Result<void>> outcomes;
  if (all.empty()) co_return outcomes;
  if (step != nullptr) step->before.reach();
  auto initiate = [](auto handler, std::vector<Submission> transactions) {
    struct Shared {
      decltype(handler) resume;
      std::vector<Result<void>> outcomes;
      std::atomic<std::size_t> left;
    };
    const auto count = transactions.size();
    const auto executor = executor_of(handler);
    auto shared = std::make_shared<Shared>(std::move(handler), std::vector<Result<void>>(count), count);
    for (std::size_t i = 0; i < count; ++i) {
      auto note = [shared, i](Result<void> outcome) {
        shared->outcomes[i] = std::move(outcome);
        if (--shared->left > 0) return;
        auto resume = std::move(shared->resume);
        resume(std::move(shared->outcomes));
      };
      transactions[i].engine->submit(std::move(transactions[i].body), Completion(executor, std::move(note)));
    }
  };
  outcomes = co_await asio::async_initiate<decltype(asio::use_awaitable), void(std::vector<Result<void>>)>(
      initiate, asio::use_awaitable, std::move(all));
  if (step != nullptr) step->after.reach();
  co_return outcomes;
}

}  // namespace tidemark::kv
