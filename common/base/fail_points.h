// Named places where a crash test can make the process die as if by kill -9: before and after each durable step,
// request and reply. TIDEMARK_FAIL_POINT=name[:count] kills it when the point is reached for the count-th time (the
// first, if there is no count). A point is a global variable of the file whose step it names. It registers itself, so a
// program lists exactly the points that are linked into it. Points are always compiled in and cost one load of a value
// that never changes. Arm them before other threads start; reaching one is thread safe.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/async.h"

namespace tidemark {

class FailPoint {
 public:
  /// The name is "step.moment"; both must outlive the program.
  FailPoint(std::string_view step, std::string_view moment);
  FailPoint(const FailPoint&) = delete;
  FailPoint& operator=(const FailPoint&) = delete;

  void reach() const {
    if (armed_.load(std::memory_order_relaxed)) [[unlikely]] {
      count_down();
    }
  }
  [[nodiscard]] std::string name() const;

 private:
  friend std::vector<std::string> fail_point_names();
  friend Result<void> arm_fail_point(std::string_view text);
  void count_down() const;

  std::string_view step_, moment_;
  const FailPoint* next_;  // the point that was registered before this one
  mutable std::atomic<bool> armed_{false};
  mutable std::atomic<int> remaining_{0};
};

/// The two points of a durable step: before it, and after it was done but before any process is told.
struct FailStep {
  explicit FailStep(std::string_view step) : before(step, "before"), after(step, "after") {}
  /// Does the step between the two points.
  template <class T>
  Task<T> around(Task<T> step) const {
    before.reach();
    auto outcome = co_await std::move(step);
    after.reach();
    co_return outcome;
  }
  FailPoint before, after;
};

/// All points of this program, sorted.
std::vector<std::string> fail_point_names();
/// Takes "name[:count]", or an empty text to disarm. kConfigInvalid if there is no such point.
Result<void> arm_fail_point(std::string_view text);
/// Takes the text from the environment.
Result<void> arm_fail_point_from_environment();

}  // namespace tidemark
