#include "workers/runtime/kind_gate.h"

#include <algorithm>

namespace tidemark::workers {

const jobs::KindControl* KindGate::find(const std::string& kind) const {
  const auto found = std::find_if(known_.begin(), known_.end(), [&](const auto& known) { return known.kind == kind; });
  return found == known_.end() ? nullptr : &*found;
}

bool KindGate::paused(const std::string& kind) const {
  const auto* control = find(kind);
  return control != nullptr && control->paused;
}

bool KindGate::unrestricted(const std::string& kind) const {
  const auto* control = find(kind);
  return control == nullptr || (!control->paused && control->max_running == 0);
}

Task<void> KindGate::refresh() {
  const auto now = clock_.now();
  const bool fresh = read_at_ && now >= *read_at_ && now - *read_at_ < kGateRefresh;
  if (fresh || reading_) co_return;
  reading_ = true;
  read_at_ = now;
  auto task = controls_.list();
  auto listed = co_await std::move(task);
  if (listed) known_ = std::move(*listed);
  auto keep_task = keep_slots();
  co_await std::move(keep_task);
  reading_ = false;
}

Task<void> KindGate::keep_slots() {
  // By index: a job may leave while a slot is being written.
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (clock_.now() - held_[i].kept_at < hold_ / 4) continue;
    auto held = held_[i];
    auto task = controls_.keep_slot(held.slot, held.job_id, hold_);
    auto kept = co_await std::move(task);
    const auto still =
        std::find_if(held_.begin(), held_.end(), [&](const Held& other) { return other.job_id == held.job_id; });
    if (!kept || still == held_.end()) continue;
    still->slot = held.slot;
    still->kept_at = clock_.now();
  }
}

Task<Admission> KindGate::enter(std::string kind, std::string job_id) {
  auto refresh_task = refresh();
  co_await std::move(refresh_task);
  const auto* control = find(kind);
  if (control == nullptr) co_return Admission::kEntered;
  if (control->paused) co_return Admission::kPaused;
  if (control->max_running == 0) co_return Admission::kEntered;
  auto task = controls_.take_slot(std::move(kind), control->max_running, job_id, hold_);
  auto slot = co_await std::move(task);
  // A store that does not answer is found out by the job itself.
  if (!slot) co_return Admission::kEntered;
  if (!slot->has_value()) co_return Admission::kFull;
  held_.push_back({std::move(job_id), std::move(**slot), clock_.now()});
  co_return Admission::kEntered;
}

Task<void> KindGate::leave(std::string job_id) {
  const auto found = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.job_id == job_id; });
  if (found == held_.end()) co_return;
  auto slot = std::move(found->slot);
  held_.erase(found);
  auto task = controls_.free_slot(std::move(slot));
  auto freed = co_await std::move(task);
  static_cast<void>(freed.has_value());  // if not, its time passes
}

}  // namespace tidemark::workers
