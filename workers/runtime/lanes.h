// Which of the job queues to take from next: smooth weighted round robin over those that may have messages. Of every
// ten messages taken while all have some, six are high, three normal, one low: bulk work of low priority goes on under
// any load, and urgent work waits for at most a few others. Pure.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "jobs/store/job_record.h"

namespace tidemark::workers {

struct Lane {
  std::string_view queue;
  int weight = 0;
};
inline constexpr std::array<Lane, 3> kLanes{Lane{jobs::kHighQueue, 6}, Lane{jobs::kJobQueue, 3},
                                            Lane{jobs::kLowQueue, 1}};

class LaneChoice {
 public:
  /// True until the queue was found empty.
  void set_filled(std::size_t lane, bool filled);
  [[nodiscard]] bool filled(std::size_t lane) const { return filled_[lane]; }
  /// Nothing if all are empty.
  std::optional<std::size_t> next();
  /// How many of `slots` messages (at least 1) should come from `lane`, which next() just gave; at least 1.
  [[nodiscard]] std::uint32_t share(std::size_t lane, std::size_t slots) const;
  /// `more` messages of `lane` came beside the one that next() counted.
  void took_more(std::size_t lane, std::size_t more);

 private:
  int raise();  // every filled lane by its weight; gives their sum
  std::array<bool, kLanes.size()> filled_{true, true, true};
  std::array<int, kLanes.size()> credit_{};
};

}  // namespace tidemark::workers
