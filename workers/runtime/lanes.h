// Decides which of the job queues to take from next, by smooth weighted round robin over those that may have messages.
// While all have some, six of ten messages are of high priority, three normal and one low. So bulk work of low priority
// continues under any load, and urgent work waits for only a few others. Pure.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/base/error.h"
#include "jobs/store/job_record.h"

namespace tidemark::workers {

struct Lane {
  std::string_view queue;
  int weight = 0;
  std::string_view priority;
};
inline constexpr std::array<Lane, 3> kLanes{Lane{jobs::kHighQueue, 6, "high"}, Lane{jobs::kJobQueue, 3, "normal"},
                                            Lane{jobs::kLowQueue, 1, "low"}};

/// Which of the lanes a worker takes from.
using LaneSet = std::array<bool, kLanes.size()>;
inline constexpr LaneSet kAllLanes{true, true, true};
/// From a list of priorities, such as "high,normal". kConfigInvalid.
Result<LaneSet> lanes_of(std::string_view priorities);

class LaneChoice {
 public:
  /// The other lanes count as empty for ever, so their messages are left to other workers, untouched.
  explicit LaneChoice(LaneSet served = kAllLanes) : filled_(served) {}
  /// True until the queue was found empty.
  void set_filled(std::size_t lane, bool filled);
  [[nodiscard]] bool filled(std::size_t lane) const { return filled_[lane]; }
  /// Nothing if all are empty.
  std::optional<std::size_t> next();
  /// How many of `slots` messages should come from `lane`, which next() has just returned; at least 1.
  [[nodiscard]] std::uint32_t share(std::size_t lane, std::size_t slots) const;
  /// Tells that `more` messages of `lane` came besides the one that next() counted.
  void took_more(std::size_t lane, std::size_t more);

 private:
  int raise();  // raises every filled lane by its weight; returns their sum
  LaneSet filled_;
  std::array<int, kLanes.size()> credit_{};
};

}  // namespace tidemark::workers
