#include "workers/runtime/limit_gate.h"

#include <algorithm>
#include <set>

namespace tidemark::workers {
namespace {

// Credit that was booked and not used for this long is given up.
constexpr Duration kCreditLasts = std::chrono::seconds(1);
constexpr std::uint32_t kChunksPerSecond = 4;

std::vector<jobs::LimitTarget> targets_of(const std::string& kind, const std::vector<PartitionRef>& places) {
  std::vector<jobs::LimitTarget> out{jobs::kind_target(kind)};
  for (const auto& place : places) {
    out.push_back(jobs::table_target(place.table));
    if (place.partition_key) out.push_back(jobs::partition_target(place.table, *place.partition_key));
  }
  return out;
}

}  // namespace

const jobs::Limit* LimitGate::find(const jobs::LimitTarget& target) const {
  if (known_.empty()) return nullptr;
  const auto found = known_.find(jobs::limit_key(target));
  return found == known_.end() ? nullptr : &found->second;
}

bool LimitGate::paused(const std::string& kind) const {
  const auto* limit = find(jobs::kind_target(kind));
  return limit != nullptr && limit->paused;
}

std::string LimitGate::queue_of_kind(const std::string& kind) const {
  const auto* limit = find(jobs::kind_target(kind));
  return limit == nullptr ? std::string() : limit->queue;
}

bool LimitGate::unrestricted(const std::string& kind, const std::vector<PartitionRef>& places) const {
  if (known_.empty()) return true;
  const auto targets = targets_of(kind, places);
  return std::ranges::none_of(targets, [&](const auto& target) { return find(target) != nullptr; });
}

LimitGate::Figures LimitGate::figures_at(const std::vector<jobs::LimitTarget>& targets,
                                         std::uint32_t jobs::Limit::* figure) const {
  Figures out;
  for (const auto& target : targets) {
    const auto* limit = find(target);
    if (limit != nullptr && limit->*figure > 0) out.emplace(jobs::limit_key(target), limit->*figure);
  }
  return out;
}

Task<void> LimitGate::refresh() {
  const auto now = clock_.now();
  const bool fresh = read_at_ && now >= *read_at_ && now - *read_at_ < kGateRefresh;
  if (fresh || reading_) co_return;
  reading_ = true;
  read_at_ = now;
  auto listed = co_await limits_.list();
  if (listed) {
    known_.clear();
    for (auto& limit : *listed) known_.emplace(jobs::limit_key(limit.target), std::move(limit));
    std::erase_if(allowances_, [&](const auto& each) { return !each.second.booking && !known_.contains(each.first); });
  }
  co_await keep_slots();
  reading_ = false;
}

Task<void> LimitGate::keep_slots() {
  // By index: a job may leave while a slot is being written.
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (clock_.now() - held_[i].kept_at < hold_ / 4) continue;
    auto held = held_[i];
    auto kept = co_await limits_.keep_slot(held.slot, held.holder, hold_);
    const auto still = std::find_if(held_.begin(), held_.end(), [&](const Held& other) {
      return other.holder == held.holder && other.slot.row_key == held.slot.row_key;
    });
    if (!kept || still == held_.end()) continue;
    still->slot = held.slot;
    still->kept_at = clock_.now();
  }
}

Task<bool> LimitGate::take_slots(Figures limits, std::string holder) {
  for (const auto& [key, slots] : limits) {
    auto slot = co_await limits_.take_slot(key, slots, holder, hold_);
    if (!slot) continue;
    if (!slot->has_value()) {
      co_await leave(holder);
      co_return false;
    }
    held_.push_back({holder, slots, key, std::move(**slot), clock_.now()});
  }
  co_return true;
}

Task<Admission> LimitGate::enter(std::string kind, std::vector<std::string> tables, std::string job_id) {
  co_await refresh();
  if (paused(kind)) co_return Admission::kPaused;
  std::vector<jobs::LimitTarget> targets{jobs::kind_target(kind)};
  for (const auto& table : tables) targets.push_back(jobs::table_target(table));
  auto limits = figures_at(targets, &jobs::Limit::max_running);
  if (limits.empty()) co_return Admission::kEntered;
  co_return co_await take_slots(std::move(limits), std::move(job_id)) ? Admission::kEntered : Admission::kFull;
}

Task<void> LimitGate::leave(std::string job_id) {
  std::vector<jobs::LimitSlot> slots;
  for (auto& held : held_) {
    if (held.holder == job_id) slots.push_back(held.slot);
  }
  std::erase_if(held_, [&](const Held& held) { return held.holder == job_id; });
  for (auto& slot : slots) {
    std::ignore = co_await limits_.free_slot(std::move(slot));  // if it fails, the slot expires
  }
}

Task<std::optional<StepPermit>> LimitGate::permit(std::vector<PartitionRef> places, std::string holder) {
  if (known_.empty()) co_return StepPermit();
  std::vector<jobs::LimitTarget> targets;
  for (const auto& place : places) {
    if (place.partition_key) targets.push_back(jobs::partition_target(place.table, *place.partition_key));
  }
  auto limits = figures_at(targets, &jobs::Limit::max_running);
  if (limits.empty()) co_return StepPermit();
  // All or none, so that two steps never wait for each other.
  if (!co_await take_slots(std::move(limits), holder)) co_return std::nullopt;
  auto executor = co_await asio::this_coro::executor;
  co_return StepPermit(this, [executor, holder](LimitGate* gate) { spawn(executor, gate->leave(holder)); });
}

Task<Time> LimitGate::book(std::string kind, std::vector<PartitionRef> places, std::uint64_t count) {
  auto from = clock_.now();
  if (known_.empty() || count == 0) co_return from;
  for (const auto& [key, per_second] : figures_at(targets_of(kind, places), &jobs::Limit::max_per_second)) {
    const auto each = co_await book_one(key, per_second, count);
    from = std::max(from, each);
  }
  co_return from;
}

Task<Time> LimitGate::book_one(std::string key, std::uint32_t per_second, std::uint64_t count) {
  while (allowances_[key].booking) {
    co_await booked_.wait(clock_, kCreditLasts);
  }
  // References into a map stay good; this entry is not erased while it is booking.
  auto& allowance = allowances_[key];
  if (clock_.now() > allowance.from + kCreditLasts) allowance.credit = 0;
  if (allowance.credit < count) {
    allowance.booking = true;
    const auto amount = std::max<std::uint64_t>(count - allowance.credit, per_second / kChunksPerSecond);
    auto from = co_await limits_.book(key, per_second, amount);
    allowance.booking = false;
    allowance.from = from ? *from : clock_.now();
    allowance.credit += amount;
    booked_.notify_all();
  }
  allowance.credit -= count;
  co_return allowance.from;
}

}  // namespace tidemark::workers
