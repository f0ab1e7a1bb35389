// Coroutines, clocks, timers and signals. All waiting is done through a Clock, so that a simulation can control the
// time.
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "common/base/time.h"

namespace tidemark {

namespace asio = boost::asio;

template <class T = void>
using Task = asio::awaitable<T>;
using Executor = asio::any_io_executor;

/// A pending call. Cancelling it twice, or after it ran, does nothing. Destroying the Timer does not cancel the call.
class Timer {
 public:
  virtual ~Timer() = default;
  virtual void cancel() = 0;
};

/// Wall time for timestamps, monotonic time for delays. Thread safe.
class Clock {
 public:
  virtual ~Clock() = default;
  [[nodiscard]] virtual Time now() const = 0;
  /// Time since some fixed moment. Setting the wall clock does not change it.
  [[nodiscard]] virtual Duration monotonic() const { return now().time_since_epoch(); }
  /// Calls `fn` on `executor` after `delay`.
  virtual std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) = 0;
};

std::unique_ptr<Clock> make_system_clock();

/// Resumes on the caller's executor.
Task<void> sleep_for(Clock& clock, Duration delay);

/// Wakes coroutines. A notification wakes those that are waiting now, and is remembered only for coroutines that took a
/// ticket before it. Thread safe.
class Signal {
 public:
  /// Returns true if notified, false if `timeout` passed first. Resumes on the caller's executor.
  Task<bool> wait(Clock& clock, Duration timeout);
  /// A coroutine that takes a ticket, looks, and then waits with the ticket misses no notification in between.
  using Ticket = std::uint64_t;
  [[nodiscard]] Ticket ticket() const;
  Task<bool> wait(Ticket ticket, Clock& clock, Duration timeout);
  void notify_all();
  [[nodiscard]] std::size_t waiting() const;

 private:
  struct Waiter;
  mutable Mutex mutex_;
  Ticket notified_ GUARDED_BY(mutex_) = 0;  // the number of notifications
  std::list<std::shared_ptr<Waiter>> waiters_ GUARDED_BY(mutex_);
};

/// Starts `task` on `executor`. An exception that escapes it is a bug and ends the process with a message.
void spawn(Executor executor, Task<void> task);

}  // namespace tidemark
