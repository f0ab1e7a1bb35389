#include "queue_service/storage/front_hints.h"

#include <algorithm>

namespace tidemark::queue_service {
namespace {
// Bounds both the tombstones an idle queue's look walks over and how often a look costs a transaction.
constexpr Duration kWorthRaising = std::chrono::milliseconds(250);
}  // namespace

Place FrontHints::front(std::uint64_t generation) const {
  std::lock_guard lock(mutex_);
  const auto found = hints_.find(generation);
  return found == hints_.end() ? Place{} : found->second.front;
}

void FrontHints::lower(std::uint64_t generation, const Place& place) {
  std::lock_guard lock(mutex_);
  const auto found = hints_.find(generation);
  if (found != hints_.end()) found->second.front = std::min(found->second.front, place);
}

void FrontHints::raise(std::uint64_t generation, const Place& place) {
  std::lock_guard lock(mutex_);
  auto& hint = hints_[generation];
  hint.front = std::max(hint.front, place);
}

void FrontHints::erased(std::uint64_t generation, const Place& place) {
  std::lock_guard lock(mutex_);
  auto& hint = hints_[generation];
  hint.last_tombstone = std::max(hint.last_tombstone, place);
}

bool FrontHints::is_behind(std::uint64_t generation, Time now) const {
  std::lock_guard lock(mutex_);
  const auto found = hints_.find(generation);
  if (found == hints_.end()) return true;
  const auto& hint = found->second;
  return hint.front < hint.last_tombstone && hint.front.visible_at + kWorthRaising < now;
}

void FrontHints::forget(std::uint64_t generation) {
  std::lock_guard lock(mutex_);
  hints_.erase(generation);
}

}  // namespace tidemark::queue_service
