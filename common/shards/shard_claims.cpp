#include "common/shards/shard_claims.h"

#include <algorithm>

namespace tidemark::shards {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;

/// For this long a free shard is left to processes that have fewer, or to the one that is wished for.
constexpr nanoseconds kOthersFirst = seconds(1);
/// After this time, a process that has its share already takes the shard too, since no other does.
constexpr nanoseconds kAnybody = seconds(3);
constexpr nanoseconds kForgotten = seconds(600);

}  // namespace

bool ShardClaims::lives(const std::string& process) const {
  if (process == me_) return true;
  const auto found = living_.find(process);
  return found != living_.end() && found->second;
}

std::vector<ProcessRow> ShardClaims::forgotten(const OwnersTable& table, ReadAt at) const {
  std::vector<ProcessRow> gone;
  for (const auto& row : table.processes) {
    const auto watched = processes_.find(row.name);
    if (watched != processes_.end() && at.begun - watched->second.since >= kForgotten) gone.push_back(row);
  }
  return gone;
}

/// A counter that moved was seen moving when the reading had ended; one that stands still did so until it began.
void ShardClaims::watch(const OwnersTable& table, const std::vector<Holding>& mine, ReadAt at) {
  living_.clear();
  std::map<std::string, Watched<std::int64_t>> processes;
  for (const auto& row : table.processes) {
    const auto before = processes_.find(row.name);
    const bool same = before != processes_.end() && before->second.counter == row.renewals;
    const Watched<std::int64_t> now{row.renewals, same ? before->second.since : at.ended};
    living_[row.name] = row.name == me_ || !stands_still(now.since, at);
    processes.emplace(row.name, now);
  }
  processes_ = std::move(processes);
  shards_.resize(table.shards.size());
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    const auto& row = table.shards[shard];
    auto& [owner, free_since] = shards_[shard];
    if (owner.since == nanoseconds{} || owner.counter != row.seen) owner = {row.seen, at.ended};
    // A shard that this process has given up without releasing it is free: no other process has it.
    const bool given_up = mine[shard] == Holding::kNothing && row.process == me_;
    const bool free =
        mine[shard] == Holding::kNothing && (row.released || row.ended || given_up || stands_still(owner.since, at));
    if (!free) free_since.reset();
    if (free && !free_since) free_since = at.begun;
  }
}

std::map<std::string, std::size_t> ShardClaims::held(const OwnersTable& table, const std::vector<Holding>& mine) const {
  std::map<std::string, std::size_t> held{{me_, 0}};
  for (const auto& [name, lives] : living_) {
    if (lives) held[name] = 0;
  }
  for (std::size_t shard = 0; shard < table.shards.size(); ++shard) {
    if (mine[shard] == Holding::kServes) ++held[me_];
    const auto owner = held.find(table.shards[shard].process);
    if (owner != held.end() && owner->first != me_ && !shards_[shard].free_since) ++owner->second;
  }
  return held;
}

void ShardClaims::choose_claims(const OwnersTable& table, std::map<std::string, std::size_t>& held, ReadAt at,
                                Plan& plan) {
  const auto count = table.shards.size();
  const auto share = (count + held.size() - 1) / held.size();
  // Processes begin at different places, so that few try for the same shard.
  const auto rank = static_cast<std::size_t>(std::distance(held.begin(), held.find(me_)));
  auto& own = held[me_];
  for (std::size_t i = 0; i < count; ++i) {
    const auto shard = (rank * count / held.size() + i) % count;
    const auto& free_since = shards_[shard].free_since;
    if (!free_since) continue;
    const auto& wish = table.shards[shard].wish;
    const bool wished = wish == me_;
    if (!wished && own >= share && at.begun - *free_since < kAnybody) continue;
    const auto others_first = [&](const auto& other) { return other.first != me_ && other.second < own; };
    const bool for_others = (!wish.empty() && lives(wish)) || std::ranges::any_of(held, others_first);
    if (!wished && for_others && at.begun - *free_since < kOthersFirst) continue;
    if (given_ == shard) {
      balance_from_ = at.begun + balance_pause_;
      balance_pause_ = std::min<nanoseconds>(2 * balance_pause_, kLongestPause);
    }
    plan.claim.push_back(shard);
    ++own;
  }
}

std::optional<std::size_t> ShardClaims::choose_release(const OwnersTable& table,
                                                       const std::map<std::string, std::size_t>& held,
                                                       const std::vector<Holding>& mine, ReadAt at) {
  std::optional<std::size_t> least_wanted;
  for (std::size_t shard = 0; shard < mine.size(); ++shard) {
    const auto& wish = table.shards[shard].wish;
    if (mine[shard] != Holding::kServes) continue;
    if (!wish.empty() && wish != me_ && lives(wish)) return shard;
    if (wish != me_) least_wanted = shard;
  }
  const auto own = held.at(me_);
  const bool uneven = std::ranges::any_of(held, [own](const auto& other) { return other.second + 2 <= own; });
  if (!uneven || at.begun < balance_from_) return std::nullopt;
  given_ = least_wanted;
  return least_wanted;
}

ShardClaims::Plan ShardClaims::plan(const OwnersTable& table, const std::vector<Holding>& mine, ReadAt at) {
  watch(table, mine, at);
  if (given_ && table.shards[*given_].process != me_) {
    given_.reset();
    balance_pause_ = kFirstPause;
  }
  Plan plan;
  auto held = this->held(table, mine);
  choose_claims(table, held, at, plan);
  const bool any_free = std::ranges::any_of(shards_, [](const auto& shard) { return shard.free_since.has_value(); });
  const bool any_leaves = std::ranges::find(mine, Holding::kLeaves) != mine.end();
  if (!any_free && !any_leaves) plan.release = choose_release(table, held, mine, at);
  return plan;
}

}  // namespace tidemark::shards
