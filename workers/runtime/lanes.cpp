#include "workers/runtime/lanes.h"

#include <algorithm>
#include <array>

#include "common/base/text.h"
#include "jobs/spec/job_queues.h"

namespace tidemark::workers {
namespace {

struct PriorityLane {
  std::string_view priority, queue;
  int weight = 0;
};
constexpr std::array<PriorityLane, 3> kPriorities{
    {{"high", jobs::kHighQueue, 6}, {"normal", jobs::kJobQueue, 3}, {"low", jobs::kLowQueue, 1}}};
constexpr int kOwnWeight = 3;

std::unexpected<Error> refuse(std::string_view setting, std::string_view value, std::string_view why) {
  return fail(ErrorCode::kConfigInvalid, std::string("The setting ").append(setting) + " cannot be '" +
                                             std::string(value) + "'; " + std::string(why));
}

Result<std::vector<Lane>> of_priorities(std::string_view setting) {
  std::array<bool, kPriorities.size()> served{};
  auto left = setting;
  do {
    const auto name = trimmed(take_item(left));
    const auto* const known = std::ranges::find(kPriorities, name, &PriorityLane::priority);
    if (known == kPriorities.end()) {
      return refuse("priorities", setting, "allowed: high, normal and low, or some of them: high,normal.");
    }
    served[static_cast<std::size_t>(known - kPriorities.begin())] = true;
  } while (!left.empty());
  std::vector<Lane> lanes;
  for (std::size_t i = 0; i < kPriorities.size(); ++i) {
    if (served[i]) lanes.push_back({std::string(kPriorities[i].queue), kPriorities[i].weight});
  }
  return lanes;
}

}  // namespace

Result<std::vector<Lane>> lanes_of(std::string_view priorities, std::string_view queues) {
  const auto of_default = TRY(of_priorities(priorities));
  std::vector<Lane> lanes;
  bool has_default = false;
  auto left = queues;
  do {
    const auto name = trimmed(take_item(left));
    if (name == jobs::kDefaultQueue) {
      if (!has_default) lanes.insert(lanes.begin(), of_default.begin(), of_default.end());
      has_default = true;
    } else if (jobs::is_own_queue(name)) {
      const auto queue = jobs::own_queue(name);
      if (std::ranges::find(lanes, queue, &Lane::queue) == lanes.end()) lanes.push_back({queue, kOwnWeight});
    } else {
      return refuse("queues", queues, std::string("a queue's name ").append(jobs::kQueueNameRule) + ".");
    }
  } while (!left.empty());
  if (lanes.size() > kMostQueues) return refuse("queues", queues, "a worker takes from at most 16 queues.");
  if (!has_default && priorities != kAllPriorities) {
    return refuse("priorities", priorities, "only the queue default has priorities, and the setting queues lacks it.");
  }
  return lanes;
}

std::vector<Lane> default_lanes() {
  std::vector<Lane> lanes;
  for (const auto& each : kPriorities) lanes.push_back({std::string(each.queue), each.weight});
  return lanes;
}

LaneChoice::LaneChoice(const std::vector<Lane>& lanes) {
  for (const auto& lane : lanes) lanes_.push_back({.weight = lane.weight});
}

void LaneChoice::set_filled(std::size_t lane, bool filled) {
  lanes_[lane].filled = filled;
  if (!filled) lanes_[lane].credit = 0;
}

int LaneChoice::raise() {
  int total = 0;
  for (auto& lane : lanes_) {
    if (!lane.filled) continue;
    lane.credit += lane.weight;
    total += lane.weight;
  }
  return total;
}

std::optional<std::size_t> LaneChoice::next() {
  const int total = raise();
  std::optional<std::size_t> best;
  for (std::size_t lane = 0; lane < lanes_.size(); ++lane) {
    if (lanes_[lane].filled && (!best || lanes_[lane].credit > lanes_[*best].credit)) best = lane;
  }
  if (best) lanes_[*best].credit -= total;
  return best;
}

std::uint32_t LaneChoice::share(std::size_t lane, std::size_t slots) const {
  auto ahead = *this;
  std::uint32_t share = 1;
  for (std::size_t slot = 1; slot < slots; ++slot) {
    if (ahead.next() == lane) ++share;
  }
  return share;
}

void LaneChoice::took_more(std::size_t lane, std::size_t more) {
  for (; more > 0; --more) lanes_[lane].credit -= raise();
}

}  // namespace tidemark::workers
