// When a process that has ended is started again: at once, then after pauses that double, and not any more after many
// ends in a row. Pure.
#pragma once
#include <algorithm>
#include <optional>

#include "common/base/time.h"

namespace tidemark::stack {

class Revival {
 public:
  static constexpr int kMostInARow = 6;
  static constexpr Duration kFirstPause = std::chrono::milliseconds(500);
  static constexpr Duration kLongestPause = std::chrono::seconds(15);
  /// A process that ran for so long was well: its end begins a new row.
  static constexpr Duration kWell = std::chrono::seconds(30);

  /// Returns the pause before the next start of a process that ran for `ran`; nothing if it has ended too often.
  std::optional<Duration> ended(Duration ran) {
    if (ran >= kWell) in_a_row_ = 0;
    if (++in_a_row_ > kMostInARow) return std::nullopt;
    if (in_a_row_ == 1) return Duration::zero();
    return std::min(kFirstPause * (1 << (in_a_row_ - 2)), kLongestPause);
  }
  [[nodiscard]] int in_a_row() const { return in_a_row_; }

 private:
  int in_a_row_ = 0;
};

}  // namespace tidemark::stack
