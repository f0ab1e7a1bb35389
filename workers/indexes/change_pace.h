// When an owner reads the log again. What comes fast is left to come together for a moment: the more changes are taken
// at once, the more of them are in the same rows, the less each costs, and the less the writers feel of it. Pure.
#pragma once
#include <algorithm>
#include <cstddef>

#include "common/base/time.h"

namespace tidemark::workers {

class ChangePace {
 public:
  /// While changes come more slowly than one in so long, there is no rest.
  static constexpr Duration kForAChange = std::chrono::microseconds(300);
  static constexpr Duration kLongest = std::chrono::seconds(1);

  /// The log was read at `now`. `more`: not to its end, so enough have come together already.
  void read(Duration now, std::size_t changes, bool more) {
    next_ = more ? now : now + std::min(kForAChange * static_cast<Duration::rep>(changes), kLongest);
  }
  /// How long to rest from `now` on.
  [[nodiscard]] Duration rest(Duration now) const { return std::max(next_ - now, Duration::zero()); }

 private:
  Duration next_{};
};

}  // namespace tidemark::workers
