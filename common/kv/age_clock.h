// The time by which a store judges the age of things that may fade, expire or be collected. It equals the wall clock as
// long as that runs evenly. If the wall clock is set forward, this clock follows at twice the speed of time until it
// has caught up, so that nothing is old at once; if the wall clock is set back, this clock goes back too. Up to an hour
// that has passed while the store did not run is believed at once. The last time is kept in a row of the store, as u64
// ticks.
//
// now() is lock-free and may be called from any thread; keep() by one coroutine at a time.
#pragma once
#include <atomic>

#include "common/kv/engine.h"

namespace tidemark::kv {

/// The key of the clock's row; no store has another row under this key.
inline constexpr std::string_view kAgeKey = "a";
/// The longest pause since the row was written that is believed without doubt when a store starts.
inline constexpr Duration kBelievedPause = std::chrono::hours(1);
inline constexpr Duration kKeepAge = std::chrono::minutes(1);

class AgeClock final : public Clock {
 public:
  /// Both must outlive the clock. Continues from the stored time.
  AgeClock(Engine& engine, Clock& clock);
  [[nodiscard]] Time now() const override;
  [[nodiscard]] Duration monotonic() const override { return clock_.monotonic(); }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    return clock_.call_after(delay, std::move(executor), std::move(fn));
  }
  /// Stores the time that the clock has reached; call it every kKeepAge.
  Task<Result<void>> keep();

 private:
  [[nodiscard]] Time bound(Duration monotonic) const { return Time(Duration(bound_.load()) + 2 * monotonic); }
  void set(Time reached, Duration monotonic);

  Engine& engine_;
  Clock& clock_;
  Time reached_;      // the time that was stored last
  Duration kept_at_;  // the same moment by the monotonic clock
  /// In ticks. The clock is never ahead of this plus twice the monotonic time.
  std::atomic<std::int64_t> bound_{0};
};

}  // namespace tidemark::kv
