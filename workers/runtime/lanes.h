// Decides which of its queues a worker takes from next, by smooth weighted round robin over those that may have
// messages. While all have some, six of ten messages of the queues of the priorities are of high priority, three normal
// and one low, so bulk work of low priority continues under any load, and urgent work waits for only a few others. A
// queue that people named counts as much as normal priority. Pure.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace tidemark::workers {

struct Lane {
  std::string queue;
  int weight = 0;
};
/// Each queue is watched by a call of its own while it is empty.
inline constexpr std::size_t kMostQueues = 16;

inline constexpr std::string_view kAllPriorities = "high,normal,low";
/// From the settings: the names of queues, such as "default,heavy", and the priorities of the default ones, such as
/// "high,normal". kConfigInvalid.
Result<std::vector<Lane>> lanes_of(std::string_view priorities, std::string_view queues);
/// The queues of the priorities.
std::vector<Lane> default_lanes();

class LaneChoice {
 public:
  explicit LaneChoice(const std::vector<Lane>& lanes);
  /// `filled` is true until the queue was found empty.
  void set_filled(std::size_t lane, bool filled);
  [[nodiscard]] bool filled(std::size_t lane) const { return lanes_[lane].filled; }
  /// Returns nothing if all are empty.
  std::optional<std::size_t> next();
  /// How many of `slots` messages should come from `lane`, which next() has just returned; at least 1.
  [[nodiscard]] std::uint32_t share(std::size_t lane, std::size_t slots) const;
  /// Tells that `more` messages of `lane` came besides the one that next() counted.
  void took_more(std::size_t lane, std::size_t more);

 private:
  struct State {
    int weight = 0;
    int credit = 0;
    bool filled = true;
  };
  int raise();  // raises every filled lane by its weight; returns their sum
  std::vector<State> lanes_;
};

}  // namespace tidemark::workers
