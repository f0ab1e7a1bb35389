// Named places where a crash test makes the process die, as kill -9 would: before and after each durable step, request
// and reply. TIDEMARK_FAIL_POINT=name[:count] kills it when the point is reached for the count-th time (1 if absent).
// A point is a global of the file whose step it names; it registers itself, so a program lists exactly the points that
// are linked into it. Compiled in always; costs one load of a value that never changes when unset. Arm before other
// threads start; reaching is thread safe.
#pragma once
#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

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
  const FailPoint* next_;  // the one registered before
  mutable std::atomic<bool> armed_{false};
  mutable std::atomic<int> remaining_{0};
};

/// A durable step: dies before it, or after it is done and before anybody is told.
struct FailStep {
  explicit FailStep(std::string_view step) : before(step, "before"), after(step, "after") {}
  FailPoint before, after;
};

/// All points of this program, sorted.
std::vector<std::string> fail_point_names();
/// Reads "name[:count]"; empty disarms. kConfigInvalid for a name that does not exist.
Result<void> arm_fail_point(std::string_view text);
/// From the environment.
Result<void> arm_fail_point_from_environment();

}  // namespace tidemark
