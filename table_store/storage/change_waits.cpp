#include "table_store/storage/change_waits.h"

namespace tidemark::table_store {

ChangeWaits::Place::Place(Place&& other) noexcept
    : waits_(other.waits_), feed_(other.feed_), gate_(std::exchange(other.gate_, nullptr)) {}

ChangeWaits::Place::~Place() {
  if (!gate_) return;
  waits_->places_.fetch_sub(1);
  MutexLock lock(waits_->mutex_);
  if (--gate_->places == 0) waits_->gates_.erase(feed_);
}

Result<ChangeWaits::Place> ChangeWaits::take(std::uint64_t feed) {
  MutexLock lock(mutex_);
  if (closed_) return fail(ErrorCode::kUnavailable);
  if (places_.load() >= kMaxPlaces) return fail(ErrorCode::kServerBusy);
  auto& gate = gates_[feed];
  if (!gate) gate = std::make_shared<Gate>();
  ++gate->places;
  places_.fetch_add(1);
  return Place(*this, feed, gate);
}

void ChangeWaits::changed(std::uint64_t feed) {
  if (places_.load() == 0) return;
  std::shared_ptr<Gate> gate;
  {
    MutexLock lock(mutex_);
    const auto found = gates_.find(feed);
    if (found == gates_.end()) return;
    gate = found->second;
  }
  gate->signal.notify_all();
}

void ChangeWaits::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (const auto& [feed, gate] : gates_) gate->signal.notify_all();
}

bool ChangeWaits::closed() {
  MutexLock lock(mutex_);
  return closed_;
}

}  // namespace tidemark::table_store
