#include "table_store/storage/scan_turns.h"
#include "common/base/mutex.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <map>

namespace tidemark::table_store {

/// A waiter is a call that takes the turn, on the executor that it came from.
struct ScanTurns::Turn::State {
  using Waiter = std::function<void(Turn)>;

  explicit State(ScanLimits wanted) : limits(wanted) {}

  const ScanLimits limits;
  mutable Mutex mutex;
  std::size_t running GUARDED_BY(mutex) = 0;
  bool closed GUARDED_BY(mutex) = false;
  std::multimap<std::uint64_t, Waiter> waiters GUARDED_BY(mutex);  // by slices had; equal ones in order of arrival

  /// Returns false if too many wait already; otherwise the waiter was called or is kept.
  static bool enter(const std::shared_ptr<State>& self, std::uint64_t slices_had, Waiter waiter) {
    {
      MutexLock lock(self->mutex);
      if (self->closed) return false;
      if (self->running >= self->limits.running) {
        if (self->waiters.size() >= self->limits.waiting) return false;
        self->waiters.emplace(slices_had, std::move(waiter));
        return true;
      }
      ++self->running;
    }
    waiter(Turn(self));
    return true;
  }

  /// Hands the turn to the next waiter, or frees it.
  static void leave(std::shared_ptr<State> self) {
    Waiter next;
    {
      MutexLock lock(self->mutex);
      if (self->waiters.empty()) {
        --self->running;
        return;
      }
      next = std::move(self->waiters.begin()->second);
      self->waiters.erase(self->waiters.begin());
    }
    next(Turn(std::move(self)));
  }
};

ScanTurns::Turn& ScanTurns::Turn::operator=(Turn&& other) noexcept {
  if (this != &other) {
    give_back();
    turns_ = std::move(other.turns_);
  }
  return *this;
}
ScanTurns::Turn::~Turn() { give_back(); }
void ScanTurns::Turn::give_back() {
  if (auto turns = std::exchange(turns_, nullptr)) State::leave(std::move(turns));
}

ScanTurns::ScanTurns(ScanLimits limits) : state_(std::make_shared<Turn::State>(limits)) {}

Task<Result<ScanTurns::Turn>> ScanTurns::take(std::uint64_t slices_had) {
  auto initiate = [state = state_](auto handler, std::uint64_t had) {
    // The caller's context must not run out of work while it waits here.
    auto executor = asio::prefer(asio::get_associated_executor(handler), asio::execution::outstanding_work.tracked);
    // std::function must copy: the handler lives in a shared cell.
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    Turn::State::Waiter waiter = [cell, executor](Turn turn) {
      asio::post(executor, [cell, turn = std::move(turn)]() mutable {
        auto resume = std::move(*cell);
        resume(std::move(turn));
      });
    };
    if (Turn::State::enter(state, had, std::move(waiter))) return;
    asio::post(executor, [cell]() mutable {
      auto resume = std::move(*cell);
      resume(Turn());
    });
  };
  auto operation =
      asio::async_initiate<decltype(asio::use_awaitable), void(Turn)>(initiate, asio::use_awaitable, slices_had);
  auto turn = co_await std::move(operation);
  if (turn) co_return std::move(turn);
  MutexLock lock(state_->mutex);
  co_return fail(state_->closed ? ErrorCode::kUnavailable : ErrorCode::kServerBusy);
}

void ScanTurns::close() {
  std::multimap<std::uint64_t, Turn::State::Waiter> waiters;
  {
    MutexLock lock(state_->mutex);
    state_->closed = true;
    waiters.swap(state_->waiters);
  }
  for (auto& [slices_had, waiter] : waiters) waiter(Turn());
}

std::size_t ScanTurns::running() const {
  MutexLock lock(state_->mutex);
  return state_->running;
}
std::size_t ScanTurns::waiting() const {
  MutexLock lock(state_->mutex);
  return state_->waiters.size();
}

}  // namespace tidemark::table_store
