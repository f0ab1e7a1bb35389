#include "workers/runtime/lanes.h"

#include <algorithm>

#include "common/base/text.h"

namespace tidemark::workers {

Result<LaneSet> lanes_of(std::string_view priorities) {
  LaneSet served{};
  auto left = priorities;
  do {
    const auto name = trimmed(take_item(left));
    const auto* const lane = std::ranges::find(kLanes, name, &Lane::priority);
    if (lane == kLanes.end()) {
      return fail(ErrorCode::kConfigInvalid, "The setting priorities cannot be '" + std::string(priorities) +
                                                 "'; allowed: high, normal and low, or some of them: high,normal.");
    }
    served[static_cast<std::size_t>(lane - kLanes.begin())] = true;
  } while (!left.empty());
  return served;
}

void LaneChoice::set_filled(std::size_t lane, bool filled) {
  filled_[lane] = filled;
  if (!filled) credit_[lane] = 0;
}

int LaneChoice::raise() {
  int total = 0;
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    if (!filled_[lane]) continue;
    credit_[lane] += kLanes[lane].weight;
    total += kLanes[lane].weight;
  }
  return total;
}

std::optional<std::size_t> LaneChoice::next() {
  const int total = raise();
  std::optional<std::size_t> best;
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    if (filled_[lane] && (!best || credit_[lane] > credit_[*best])) best = lane;
  }
  if (best) credit_[*best] -= total;
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
  for (; more > 0; --more) credit_[lane] -= raise();
}

}  // namespace tidemark::workers
