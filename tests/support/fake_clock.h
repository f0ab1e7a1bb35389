// A clock that a test moves, with timers.
#pragma once
#include <boost/asio/post.hpp>
#include <map>

#include "common/base/async.h"

namespace tidemark {

class FakeClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return now_; }
  [[nodiscard]] Duration monotonic() const override { return elapsed_; }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    auto timer = std::make_shared<FakeTimer>();
    calls_.emplace(elapsed_ + delay, Call{timer, std::move(executor), std::move(fn)});
    return timer;
  }
  /// Lets wall and monotonic time pass; due timers are posted.
  void advance(Duration by) {
    now_ += by;
    elapsed_ += by;
    while (!calls_.empty() && calls_.begin()->first <= elapsed_) {
      auto call = std::move(calls_.begin()->second);
      calls_.erase(calls_.begin());
      if (!call.timer->cancelled) asio::post(call.executor, std::move(call.fn));
    }
  }
  /// Sets the wall clock.
  void jump(Duration by) { now_ += by; }
  [[nodiscard]] std::size_t pending() const {
    std::size_t n = 0;
    for (const auto& [when, call] : calls_) n += call.timer->cancelled ? 0 : 1;
    return n;
  }

 private:
  struct FakeTimer final : Timer {
    void cancel() override { cancelled = true; }
    bool cancelled = false;
  };
  struct Call {
    std::shared_ptr<FakeTimer> timer;
    Executor executor;
    std::function<void()> fn;
  };
  Time now_ = Time(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
  Duration elapsed_{};
  std::multimap<Duration, Call> calls_;
};

}  // namespace tidemark
