#include "common/base/async.h"

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdio>
#include <cstdlib>

namespace tidemark {
namespace {

class SystemTimer final : public Timer, public std::enable_shared_from_this<SystemTimer> {
 public:
  SystemTimer(const Executor& executor, std::function<void()> fn) : timer_(executor), fn_(std::move(fn)) {}
  void start(Duration delay) {
    timer_.expires_after(std::chrono::duration_cast<std::chrono::steady_clock::duration>(delay));
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) {
      auto fn = std::move(self->fn_);
      self->fn_ = nullptr;
      if (fn && !self->cancelled_.load()) fn();
    });
  }
  void cancel() override {
    cancelled_.store(true);
    asio::post(timer_.get_executor(), [self = shared_from_this()] { self->timer_.cancel(); });
  }

 private:
  asio::steady_timer timer_;
  std::function<void()> fn_;
  std::atomic<bool> cancelled_{false};
};

class SystemClock final : public Clock {
 public:
  Time now() const override { return std::chrono::time_point_cast<Ticks>(std::chrono::system_clock::now()); }
  Duration monotonic() const override {
    return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch());
  }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    auto timer = std::make_shared<SystemTimer>(executor, std::move(fn));
    asio::post(executor, [timer, delay] { timer->start(delay); });
    return timer;
  }
};

}  // namespace

std::unique_ptr<Clock> make_system_clock() { return std::make_unique<SystemClock>(); }

Task<void> sleep_for(Clock& clock, Duration delay) {
  auto executor = co_await asio::this_coro::executor;
  auto initiate = [&clock, delay, executor](auto handler) {
    // std::function must be copyable, so the handler lives in a shared cell.
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    clock.call_after(delay, executor, [cell] { std::move (*cell)(); });
  };
  co_await asio::async_initiate<decltype(asio::use_awaitable), void()>(initiate, asio::use_awaitable);
}

struct Signal::Waiter {
  std::function<void(bool)> resume;  // empty once used
  std::shared_ptr<Timer> timer;
  Executor executor;
};

namespace {
void wake(Executor executor, std::function<void(bool)> resume) {
  asio::post(executor, [resume = std::move(resume)] { resume(true); });
}
}  // namespace

Signal::Ticket Signal::ticket() const {
  MutexLock lock(mutex_);
  return notified_;
}

Task<bool> Signal::wait(Clock& clock, Duration timeout) { return wait(ticket(), clock, timeout); }

Task<bool> Signal::wait(Ticket ticket, Clock& clock, Duration timeout) {
  auto executor = co_await asio::this_coro::executor;
  auto initiate = [this, ticket, &clock, timeout, executor](auto handler) {
    auto cell = std::make_shared<decltype(handler)>(std::move(handler));
    auto waiter = std::make_shared<Waiter>();
    waiter->executor = executor;
    waiter->resume = [cell](bool notified) { std::move (*cell)(notified); };
    {
      MutexLock lock(mutex_);
      if (notified_ != ticket) return wake(executor, std::move(waiter->resume));
      waiters_.push_back(waiter);
    }
    std::weak_ptr<Waiter> weak = waiter;
    auto timer = clock.call_after(timeout, executor, [this, weak] {
      auto expired = weak.lock();
      if (!expired) return;
      std::function<void(bool)> resume;
      {
        MutexLock lock(mutex_);
        waiters_.remove(expired);
        resume = std::exchange(expired->resume, nullptr);
      }
      if (resume) resume(false);
    });
    MutexLock lock(mutex_);
    waiter->timer = std::move(timer);
    if (!waiter->resume) waiter->timer->cancel();
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(bool)>(initiate, asio::use_awaitable);
}

void Signal::notify_all() {
  MutexLock lock(mutex_);
  ++notified_;
  for (auto& waiter : std::exchange(waiters_, {})) {
    if (waiter->timer) waiter->timer->cancel();
    if (auto resume = std::exchange(waiter->resume, nullptr)) wake(waiter->executor, std::move(resume));
  }
}

std::size_t Signal::waiting() const {
  MutexLock lock(mutex_);
  return waiters_.size();
}

void spawn(Executor executor, Task<void> task) {
  asio::co_spawn(executor, std::move(task), [](std::exception_ptr failure) {
    if (!failure) return;
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "fatal: a task ended with an exception: %s\n", e.what());
    }
    std::abort();
  });
}

}  // namespace tidemark
