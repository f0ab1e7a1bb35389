// Makes sure that each of several things, such as indexes, has an owner in one of the workers. Every worker runs a
// keeper, and none is special: the keeper that wins the compare-and-swap of a thing's owner row owns the thing. A
// keeper shows that it lives by a number that rises; a keeper that has not seen another's number rise for a while, by
// its own monotonic clock, may take the things of that other. If the other still runs, it does no harm, because its
// epoch is over.
// Runs on one strand.
//
// A Kind has kTask, for the log, and
//   Thing      the thing that a person declares; it has an id
//   Owner      create(services, thing, epoch); start(strand), update(thing), stop(), ended(), epoch()
//   Services   clock, and store: changes(), which rises; all() things; and their owner rows (jobs/store/owner_rows.h)
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/process/failures.h"
#include "jobs/store/owner_rows.h"

namespace tidemark::workers {

namespace keeping {
/// A change that was not announced is seen after this time.
inline constexpr Duration kLearnAnyway = std::chrono::seconds(10);
/// A keeper that has its fair share leaves a free thing to others for this long.
inline constexpr Duration kLeaveToOthers = std::chrono::seconds(3);
inline constexpr Duration kDrain = std::chrono::seconds(5);
/// The row of a keeper that died is removed after this time.
inline constexpr Duration kForgetAfter = std::chrono::minutes(10);

}  // namespace keeping

struct KeeperOptions {
  std::string worker;
  Duration poll = std::chrono::milliseconds(250);
  Duration beat = std::chrono::seconds(1);
  Duration lost_after = std::chrono::seconds(5);  // several beats
};

template <class Kind>
class Keeper : public std::enable_shared_from_this<Keeper<Kind>> {
 public:
  using Thing = typename Kind::Thing;
  using Owner = typename Kind::Owner;
  using Services = typename Kind::Services;

  static std::shared_ptr<Keeper> create(KeeperOptions options, Services services);
  void start(Executor strand);
  /// Gives its things back, so that others take them at once. Await it on the strand.
  Task<void> stop();
  [[nodiscard]] std::size_t owned() const { return owners_.size(); }

 private:
  Keeper(KeeperOptions options, Services services);
  static Task<void> run(std::shared_ptr<Keeper> self);
  Task<Result<void>> pass();
  Task<Result<void>> beat();
  Task<Result<void>> learn_things();
  Task<Result<void>> learn_all_things();
  Task<Result<void>> look_at_others();
  [[nodiscard]] std::vector<std::string> to_claim();
  Task<Result<bool>> claim(std::string id);
  Task<void> give_back(std::string id, std::uint64_t epoch);
  [[nodiscard]] bool is_free(const std::string& id) const;
  [[nodiscard]] std::size_t fair_share() const;

  /// The last known state of another keeper.
  struct Seen {
    std::uint64_t beat = 0;
    Duration at{};  // when it was first seen with that beat
  };

  KeeperOptions options_;
  Services services_;
  Executor strand_;
  std::string own_row_;
  jobs::Owner own_;
  std::map<std::string, Thing> things_;      // by id
  std::map<std::string, jobs::Owner> rows_;  // the owner row of each thing
  std::map<std::string, Seen> keepers_;
  std::map<std::string, Duration> free_since_;
  std::map<std::string, std::shared_ptr<Owner>> owners_;
  table_store::Version seen_changes_ = -1;
  std::optional<Duration> learned_at_, beaten_at_;
  bool stopping_ = false;
  bool ended_ = false;
  Signal wake_;
};

template <class Kind>
std::shared_ptr<Keeper<Kind>> Keeper<Kind>::create(KeeperOptions options, Services services) {
  return std::shared_ptr<Keeper>(new Keeper(std::move(options), services));
}

template <class Kind>
Keeper<Kind>::Keeper(KeeperOptions options, Services services)
    : options_(std::move(options)), services_(services), own_row_(std::string(jobs::kKeeperRow) + options_.worker) {}

template <class Kind>
void Keeper<Kind>::start(Executor strand) {
  strand_ = strand;
  spawn(std::move(strand), run(this->shared_from_this()));
}

template <class Kind>
Task<void> Keeper<Kind>::run(std::shared_ptr<Keeper> self) {
  while (!self->stopping_) {
    const auto passed = co_await self->pass();
    if (!passed) process::log_failed_task(Kind::kTask, passed.error());
    if (self->stopping_) break;
    co_await self->wake_.wait(self->services_.clock, self->options_.poll);
  }
  self->ended_ = true;
  self->wake_.notify_all();
}

template <class Kind>
Task<void> Keeper<Kind>::stop() {
  stopping_ = true;
  wake_.notify_all();
  // A pass that is under way forgets owners that have ended.
  const auto owned = owners_;
  for (const auto& [id, owner] : owned) owner->stop();
  // A pass that waits for an unreachable store has nothing to give back.
  const auto until = services_.clock.monotonic() + keeping::kDrain;
  const auto all_ended = [&] {
    return std::ranges::all_of(owned, [](const auto& each) { return each.second->ended(); });
  };
  while (!owned.empty() && (!ended_ || !all_ended()) && services_.clock.monotonic() < until) {
    co_await wake_.wait(services_.clock, std::chrono::milliseconds(10));
  }
  for (const auto& [id, owner] : owned) co_await give_back(id, owner->epoch());
  if (own_.version != 0) std::ignore = co_await services_.store.remove_owner(own_row_, own_);
}

template <class Kind>
Task<Result<void>> Keeper<Kind>::pass() {
  CO_TRY(co_await beat());
  CO_TRY(co_await learn_things());
  std::erase_if(owners_, [](const auto& each) { return each.second->ended(); });
  for (auto& [id, owner] : owners_) {
    const auto thing = things_.find(id);
    if (thing == things_.end()) owner->stop();
  }
  if (things_.empty()) co_return Result<void>{};
  CO_TRY(co_await look_at_others());
  std::vector<std::string> claimed;
  for (const auto& id : to_claim()) {
    if (!stopping_ && CO_TRY(co_await claim(id))) claimed.push_back(id);
  }
  if (claimed.empty()) co_return Result<void>{};
  // The known state may be old: the previous owner of a thing may have removed it since, as its last act.
  CO_TRY(co_await learn_all_things());
  for (const auto& id : claimed) {
    const auto thing = things_.find(id);
    if (thing == things_.end()) {
      CO_TRY(co_await services_.store.remove_owner(id, rows_[id]));
      continue;
    }
    if (stopping_) {
      co_await give_back(id, rows_[id].epoch);
      continue;
    }
    auto owner = Owner::create(services_, thing->second, rows_[id].epoch);
    owners_.emplace(id, owner);
    owner->start(strand_);
  }
  co_return Result<void>{};
}

/// The first beat finds the row of an earlier process with this name.
template <class Kind>
Task<Result<void>> Keeper<Kind>::beat() {
  const auto now = services_.clock.monotonic();
  if (beaten_at_ && now - *beaten_at_ < options_.beat) co_return Result<void>{};
  if (things_.empty() && beaten_at_) co_return Result<void>{};
  own_.worker = options_.worker;
  ++own_.beat;
  if (!CO_TRY(co_await services_.store.swap_owner(own_row_, own_))) {
    own_ = CO_TRY(co_await services_.store.owner(own_row_));
    co_return Result<void>{};
  }
  beaten_at_ = now;
  co_return Result<void>{};
}

template <class Kind>
Task<Result<void>> Keeper<Kind>::learn_things() {
  const auto now = services_.clock.monotonic();
  const auto changes = CO_TRY(co_await services_.store.changes());
  if (changes == seen_changes_ && learned_at_ && now - *learned_at_ < keeping::kLearnAnyway) co_return Result<void>{};
  CO_TRY(co_await learn_all_things());
  seen_changes_ = changes;
  co_return Result<void>{};
}

template <class Kind>
Task<Result<void>> Keeper<Kind>::learn_all_things() {
  const auto now = services_.clock.monotonic();
  auto all = CO_TRY(co_await services_.store.all());
  things_.clear();
  for (auto& thing : all) {
    const auto owner = owners_.find(thing.id);
    if (owner != owners_.end()) owner->second->update(thing);
    things_.emplace(thing.id, std::move(thing));
  }
  learned_at_ = now;
  co_return Result<void>{};
}

template <class Kind>
Task<Result<void>> Keeper<Kind>::look_at_others() {
  const auto now = services_.clock.monotonic();
  rows_ = CO_TRY(co_await services_.store.all_owners());
  for (const auto& [id, row] : rows_) {
    if (!id.starts_with(jobs::kKeeperRow)) continue;
    const auto [seen, fresh] = keepers_.try_emplace(row.worker, Seen{row.beat, now});
    if (!fresh && seen->second.beat != row.beat) seen->second = {row.beat, now};
    if (now - seen->second.at >= keeping::kForgetAfter) CO_TRY(co_await services_.store.remove_owner(id, row));
  }
  co_return Result<void>{};
}

template <class Kind>
bool Keeper<Kind>::is_free(const std::string& id) const {
  const auto row = rows_.find(id);
  if (row == rows_.end() || row->second.worker.empty() || row->second.worker == options_.worker) return true;
  const auto seen = keepers_.find(row->second.worker);
  return seen == keepers_.end() || services_.clock.monotonic() - seen->second.at >= options_.lost_after;
}

template <class Kind>
std::size_t Keeper<Kind>::fair_share() const {
  const auto now = services_.clock.monotonic();
  const auto live =
      std::ranges::count_if(keepers_, [&](const auto& keeper) { return now - keeper.second.at < options_.lost_after; });
  const auto keepers = std::max<std::size_t>(static_cast<std::size_t>(live), 1);
  return (things_.size() + keepers - 1) / keepers;
}

/// Returns the things that nobody owns and that this keeper should take.
template <class Kind>
std::vector<std::string> Keeper<Kind>::to_claim() {
  const auto now = services_.clock.monotonic();
  std::vector<std::string> out;
  for (const auto& [id, thing] : things_) {
    if (owners_.contains(id) || !is_free(id)) {
      free_since_.erase(id);
      continue;
    }
    const auto since = free_since_.try_emplace(id, now).first->second;
    const bool enough = owners_.size() + out.size() >= fair_share();
    if (!enough || now - since >= keeping::kLeaveToOthers) out.push_back(id);
  }
  return out;
}

/// Returns false if another keeper was first.
template <class Kind>
Task<Result<bool>> Keeper<Kind>::claim(std::string id) {
  auto row = rows_[id];
  row.worker = options_.worker;
  ++row.epoch;
  if (!CO_TRY(co_await services_.store.swap_owner(id, row))) co_return false;
  rows_[id] = row;
  co_return true;
}

/// Leaves the thing to another keeper, unless one has taken it since this one claimed it with the epoch.
template <class Kind>
Task<void> Keeper<Kind>::give_back(std::string id, std::uint64_t epoch) {
  auto row = rows_[id];
  if (row.worker != options_.worker || row.epoch != epoch) co_return;
  row.worker.clear();
  std::ignore = co_await services_.store.swap_owner(std::move(id), row);
}

}  // namespace tidemark::workers
