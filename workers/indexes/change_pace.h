// Decides when an owner reads the log again. While changes come fast, it waits a moment so that they accumulate: the
// more changes are taken at once, the more of them are in the same rows, the less each costs, and the less writers
// notice. Pure.
#pragma once
#include <algorithm>
#include <cstdint>

#include "common/base/time.h"

namespace tidemark::workers {

/// The changes that an owner found in the log.
struct ChangesRead {
  std::uint64_t changes = 0, bytes = 0;
  std::size_t entities = 0;  // entities that changed
  bool more = false;         // the log was not read to its end
};

/// How much of the log may wait for an owner.
struct LogRoom {
  std::uint64_t changes = 0, bytes = 0;
};

class ChangePace {
 public:
  /// While the average time between changes is longer than this, the owner does not rest.
  static constexpr Duration kForAChange = std::chrono::microseconds(300);
  static constexpr Duration kLongest = std::chrono::seconds(1);
  /// The longest rest if at least half of the changes concern entities that had changed already; if fewer do, it lies
  /// in between: of all changes of an entity, only the last has to be in the rows.
  static constexpr Duration kLongestIfRepeated = std::chrono::seconds(3);
  static constexpr double kShareOfRoom = 0.25;

  /// The log was read at `now`. If it was not read to its end, enough changes are waiting already.
  void read(Duration now, const ChangesRead& read, const LogRoom& room) {
    next_ = read.more ? now : now + std::min(worth_waiting(read), until_filled(now - read_, read, room));
    read_ = now;
  }
  /// Returns how long to rest from `now` on.
  [[nodiscard]] Duration rest(Duration now) const { return std::max(next_ - now, Duration::zero()); }

 private:
  static Duration worth_waiting(const ChangesRead& read) {
    const double repeated = 1 - std::min(ratio(read.entities, read.changes), 1.0);
    const double longest = ticks(kLongest) + ticks(kLongestIfRepeated - kLongest) * std::min(2 * repeated, 1.0);
    return whole(std::min(ticks(kForAChange) * static_cast<double>(read.changes), longest));
  }
  /// Returns the time until as much waits as an owner may leave, if changes keep coming at the rate seen during `time`.
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
