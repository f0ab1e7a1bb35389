// A clock that stands until a test moves it. It never calls a timer's callback.
#pragma once
#include "common/base/async.h"

namespace tidemark {

class StandingClock : public Clock {
 public:
  explicit StandingClock(Time at = Time(Ticks(1'000'000))) : time(at) {}
  [[nodiscard]] Time now() const override { return time; }
  std::shared_ptr<Timer> call_after(Duration, Executor, std::function<void()>) override { return nullptr; }
  Time time;
};

}  // namespace tidemark
