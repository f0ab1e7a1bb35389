#include "workers/indexes/keeper.h"

#include "common/process/failures.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;

/// A change that nobody was told of is seen after this time.
constexpr Duration kLearnAnyway = 10s;
/// Whoever has its fair share leaves a free index to others for this long.
constexpr Duration kLeaveToOthers = 3s;
constexpr Duration kDrain = 5s;
/// The row of a keeper that died.
constexpr Duration kForgetAfter = 10min;

}  // namespace

std::shared_ptr<IndexKeeper> IndexKeeper::create(KeeperOptions options, IndexServices services) {
  return std::shared_ptr<IndexKeeper>(new IndexKeeper(std::move(options), services));
}

IndexKeeper::IndexKeeper(KeeperOptions options, IndexServices services)
    : options_(std::move(options)), services_(services), own_row_(std::string(indexes::kKeeperRow) + options_.worker) {}

void IndexKeeper::start(Executor strand) {
  strand_ = strand;
  spawn(std::move(strand), run(shared_from_this()));
}

Task<void> IndexKeeper::run(std::shared_ptr<IndexKeeper> self) {
  while (!self->stopping_) {
    const auto passed = co_await self->pass();
    if (!passed) process::log_failed_task("worker.indexes", passed.error());
    if (self->stopping_) break;
    co_await self->wake_.wait(self->services_.clock, self->options_.poll);
  }
  self->ended_ = true;
  self->wake_.notify_all();
}

Task<void> IndexKeeper::stop() {
  stopping_ = true;
  wake_.notify_all();
  for (auto& [id, owner] : owners_) owner->stop();
  const auto until = services_.clock.monotonic() + kDrain;
  const auto all_ended = [&] {
    return std::ranges::all_of(owners_, [](const auto& each) { return each.second->ended(); });
  };
  while ((!ended_ || !all_ended()) && services_.clock.monotonic() < until) {
    co_await wake_.wait(services_.clock, 10ms);
  }
  for (auto& [id, owner] : owners_) {
    auto row = rows_[id];
    if (row.worker != options_.worker || row.epoch != owner->epoch()) continue;
    row.worker.clear();
    std::ignore = co_await services_.store.swap_owner(id, row);
  }
  if (own_.version != 0) std::ignore = co_await services_.store.remove_owner(own_row_, own_);
}

Task<Result<void>> IndexKeeper::pass() {
  CO_TRY(co_await beat());
  CO_TRY(co_await learn_indexes());
  std::erase_if(owners_, [](const auto& each) { return each.second->ended(); });
  for (auto& [id, owner] : owners_) {
    const auto index = indexes_.find(id);
    if (index == indexes_.end()) owner->stop();
  }
  if (indexes_.empty()) co_return Result<void>{};
  CO_TRY(co_await look_at_others());
  const auto now = services_.clock.monotonic();
  for (const auto& [id, index] : indexes_) {
    if (stopping_) break;
    if (owners_.contains(id) || !is_free(id)) {
      free_since_.erase(id);
      continue;
    }
    const auto since = free_since_.try_emplace(id, now).first->second;
    if (owners_.size() >= fair_share() && now - since < kLeaveToOthers) continue;
    CO_TRY(co_await claim(index));
  }
  co_return Result<void>{};
}

/// The first beat finds the row of an earlier process of this name.
Task<Result<void>> IndexKeeper::beat() {
  const auto now = services_.clock.monotonic();
  if (beaten_at_ && now - *beaten_at_ < options_.beat) co_return Result<void>{};
  if (indexes_.empty() && beaten_at_) co_return Result<void>{};
  own_.worker = options_.worker;
  ++own_.beat;
  if (!CO_TRY(co_await services_.store.swap_owner(own_row_, own_))) {
    own_ = CO_TRY(co_await services_.store.owner(own_row_));
    co_return Result<void>{};
  }
  beaten_at_ = now;
  co_return Result<void>{};
}

Task<Result<void>> IndexKeeper::learn_indexes() {
  const auto now = services_.clock.monotonic();
  const auto changes = CO_TRY(co_await services_.store.changes());
  if (changes == seen_changes_ && learned_at_ && now - *learned_at_ < kLearnAnyway) co_return Result<void>{};
  auto all = CO_TRY(co_await services_.store.all());
  indexes_.clear();
  for (auto& index : all) {
    const auto owner = owners_.find(index.id);
    if (owner != owners_.end()) owner->second->update(index);
    indexes_.emplace(index.id, std::move(index));
  }
  seen_changes_ = changes;
  learned_at_ = now;
  co_return Result<void>{};
}

Task<Result<void>> IndexKeeper::look_at_others() {
  const auto now = services_.clock.monotonic();
  rows_ = CO_TRY(co_await services_.store.all_owners());
  for (const auto& [id, row] : rows_) {
    if (!id.starts_with(indexes::kKeeperRow)) continue;
    const auto [seen, fresh] = keepers_.try_emplace(row.worker, Seen{row.beat, now});
    if (!fresh && seen->second.beat != row.beat) seen->second = {row.beat, now};
    if (now - seen->second.at >= kForgetAfter) CO_TRY(co_await services_.store.remove_owner(id, row));
  }
  co_return Result<void>{};
}

bool IndexKeeper::is_free(const std::string& id) const {
  const auto row = rows_.find(id);
  if (row == rows_.end() || row->second.worker.empty() || row->second.worker == options_.worker) return true;
  const auto seen = keepers_.find(row->second.worker);
  return seen == keepers_.end() || services_.clock.monotonic() - seen->second.at >= options_.lost_after;
}

std::size_t IndexKeeper::fair_share() const {
  const auto now = services_.clock.monotonic();
  const auto live =
      std::ranges::count_if(keepers_, [&](const auto& keeper) { return now - keeper.second.at < options_.lost_after; });
  const auto keepers = std::max<std::size_t>(static_cast<std::size_t>(live), 1);
  return (indexes_.size() + keepers - 1) / keepers;
}

Task<Result<void>> IndexKeeper::claim(const indexes::Index& index) {
  auto row = rows_[index.id];
  row.worker = options_.worker;
  ++row.epoch;
  if (!CO_TRY(co_await services_.store.swap_owner(index.id, row))) co_return Result<void>{};
  rows_[index.id] = row;
  auto owner = IndexOwner::create(services_, index, row.epoch);
  owners_.emplace(index.id, owner);
  owner->start(strand_);
  co_return Result<void>{};
}

}  // namespace tidemark::workers
