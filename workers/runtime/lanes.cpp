#include "workers/runtime/lanes.h"

namespace tidemark::workers {

void LaneChoice::set_filled(std::size_t lane, bool filled) {
  filled_[lane] = filled;
  if (!filled) credit_[lane] = 0;
}

std::optional<std::size_t> LaneChoice::next() {
  std::optional<std::size_t> best;
  int total = 0;
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    if (!filled_[lane]) continue;
    credit_[lane] += kLanes[lane].weight;
    total += kLanes[lane].weight;
    if (!best || credit_[lane] > credit_[*best]) best = lane;
  }
  if (best) credit_[*best] -= total;
  return best;
}

}  // namespace tidemark::workers
