// When an owner reads the log again. What comes fast is left to come together for a moment: the more changes are taken
// at once, the more of them are in the same rows, the less each costs, and the less the writers feel of it. Pure.
#pragma once
#include <algorithm>
#include <cstdint>

#include "common/base/time.h"

namespace tidemark::workers {

/// What an owner found in the log.
struct ChangesRead {
  std::uint64_t changes = 0, bytes = 0;
  std::size_t entities = 0;  // that changed
  bool more = false;         // not to its end
};

/// So much of the log may wait for an owner.
struct LogRoom {
  std::uint64_t changes = 0, bytes = 0;
};

class ChangePace {
 public:
  /// While changes come more slowly than one in so long, there is no rest.
  static constexpr Duration kForAChange = std::chrono::microseconds(300);
  static constexpr Duration kLongest = std::chrono::seconds(1);
  /// As long if at least half of the changes are of entities that changed already, and in between if fewer are: of all
  /// changes of an entity, only the last has to be in the rows.
  static constexpr Duration kLongestIfRepeated = std::chrono::seconds(3);
  static constexpr double kShareOfRoom = 0.25;

  /// The log was read at `now`. If there was more, enough have come together already.
  void read(Duration now, const ChangesRead& read, const LogRoom& room) {
    next_ = read.more ? now : now + std::min(worth_waiting(read), until_filled(now - read_, read, room));
    read_ = now;
  }
  /// How long to rest from `now` on.
  [[nodiscard]] Duration rest(Duration now) const { return std::max(next_ - now, Duration::zero()); }

 private:
  static Duration worth_waiting(const ChangesRead& read) {
    const double repeated = 1 - std::min(ratio(read.entities, read.changes), 1.0);
    const double longest = ticks(kLongest) + ticks(kLongestIfRepeated - kLongest) * std::min(2 * repeated, 1.0);
    return whole(std::min(ticks(kForAChange) * static_cast<double>(read.changes), longest));
  }
  /// Until as much waits as an owner may leave, if it goes on coming as it came in `time`.
  static Duration until_filled(Duration time, const ChangesRead& read, const LogRoom& room) {
    const double filled = std::max(ratio(read.changes, room.changes), ratio(read.bytes, room.bytes));
    const double share = std::max(filled / kShareOfRoom, 1e-9);
    return whole(std::min(ticks(time) / share, ticks(kLongestIfRepeated)));
  }
  static double ratio(std::uint64_t part, std::uint64_t all) {
    return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(all, 1));
  }
  static double ticks(Duration duration) { return static_cast<double>(duration.count()); }
  static Duration whole(double ticks) { return Duration(static_cast<Duration::rep>(ticks)); }

  Duration read_{};
  Duration next_{};
};

}  // namespace tidemark::workers
