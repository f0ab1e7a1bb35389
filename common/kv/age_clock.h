// The time by which a store judges how old things are: what may fade, expire or be collected. It is the wall clock's as
// long as that runs evenly. If somebody sets the wall clock forward, it follows at twice the speed of time until it has
// caught up, so that nothing is old at once; if somebody sets it back, so is this. What passed while the store did not
// run is believed up to an hour at once. It is kept in a row of the store: the last time, as u64 ticks.
//
// now() is lock-free and may be called from any thread; keep() by one coroutine at a time.
#pragma once
#include <atomic>

#include "common/kv/engine.h"

namespace tidemark::kv {

/// Its row; no store has another one under this key.
inline constexpr std::string_view kAgeKey = "a";
/// What may have passed since it was kept, without a doubt, when a store starts.
inline constexpr Duration kBelievedPause = std::chrono::hours(1);
inline constexpr Duration kKeepAge = std::chrono::minutes(1);

class AgeClock final : public Clock {
 public:
  /// Both must outlive it. Goes on from what was kept.
  AgeClock(Engine& engine, Clock& clock);
  [[nodiscard]] Time now() const override;
  [[nodiscard]] Duration monotonic() const override { return clock_.monotonic(); }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    return clock_.call_after(delay, std::move(executor), std::move(fn));
  }
  /// Notes how far it has come; call it every kKeepAge.
  Task<Result<void>> keep();

 private:
  [[nodiscard]] Time bound(Duration monotonic) const { return Time(Duration(bound_.load()) + 2 * monotonic); }
  void set(Time reached, Duration monotonic);

  Engine& engine_;
  Clock& clock_;
  Time reached_;      // when it was kept last
  Duration kept_at_;  // by the monotonic clock
  /// It is no further than this and twice the monotonic time, in ticks.
  std::atomic<std::int64_t> bound_{0};
};

}  // namespace tidemark::kv
