#include "indexes/lookup/status.h"

#include <algorithm>
#include <map>

#include "common/base/encoding.h"

namespace tidemark::indexes {
namespace {

using table_store::FollowerStatus;

std::optional<FollowerStatus> follower_in(const std::vector<FollowerStatus>& followers, const std::string& id) {
  const auto found = std::ranges::find(followers, id, [](const auto& each) { return each.following.follower; });
  return found == followers.end() ? std::nullopt : std::optional(*found);
}

/// Combines the changes that wait in two logs.
std::optional<FollowerStatus> together(std::optional<FollowerStatus> a, std::optional<FollowerStatus> b) {
  if (!a || !b) return std::nullopt;
  a->position = earlier_of(a->position, b->position);
  a->changes_behind += b->changes_behind;
  a->bytes_behind += b->bytes_behind;
  if (!a->oldest || (b->oldest && *b->oldest < *a->oldest)) a->oldest = b->oldest;
  a->stale = a->stale || b->stale;
  return a;
}

void add_owner(const std::map<std::string, Owner>& owners, Status& status) {
  const auto owner = owners.find(status.index.id);
  if (owner == owners.end()) return;
  status.owner = owner->second;
  const auto keeper = owners.find(std::string(jobs::kKeeperRow) + status.owner.worker);
  if (keeper != owners.end()) status.owner_seen = Time(Ticks(keeper->second.version));
}

}  // namespace

std::string_view Status::state() const {
  if (index.dropping) return kDropping;
  if (follower && follower->stale) return kStale;
  if (progress.rebuilds < index.rebuilds_asked) return kBuilding;
  return progress.state;
}

table_store::Version Status::position() const {
  return std::max(progress.position, follower ? follower->reached() : table_store::Version{0});
}

std::optional<Duration> Status::lag(Time now) const {
  if (!follower || follower->stale) return std::nullopt;
  // Changes that came since then may not be in the rows.
  return follower->oldest ? std::max(now - *follower->oldest, age) : age;
}

bool Status::has_reached(table_store::Version version) const {
  if (state() != kReady || !follower) return false;
  if (std::max(progress.position, follower->position.everywhere()) >= version) return true;
  // The version may belong to another table, or to a shard that is rarely written: a caller with such a version must
  // not wait longer than for the present changes.
  return age == Duration::zero() && (!follower->oldest || *follower->oldest > Time(Ticks(version)));
}

Task<Result<Status>> status_of(table_store::TableClient& tables, IndexStore& store, Index index) {
  Status status;
  // The order matters: an owner marks its index as not ready before it lets the log begin anew. In the other order, the
  // log could show that nothing waits while the index still counts as ready.
  status.follower = follower_in(CO_TRY(co_await tables.followers(index.definition.source)), index.id);
  if (!index.definition.referred().empty()) {
    auto there = follower_in(CO_TRY(co_await tables.followers(index.definition.entities())), index.id);
    status.follower = together(std::move(status.follower), std::move(there));
  }
  status.progress = CO_TRY(co_await store.progress(index.id)).value_or(Progress{});
  status.index = std::move(index);
  co_return status;
}

Task<Result<std::vector<Status>>> status_of_all(table_store::TableClient& tables, IndexStore& store,
                                                std::vector<Index> indexes) {
  std::map<std::string, std::vector<FollowerStatus>> followers;  // by table, in lower case
  for (const auto& index : indexes) {
    for (const auto& table : {index.definition.source, index.definition.entities()}) {
      const auto key = to_lower_ascii(table);
      if (!followers.contains(key)) followers[key] = CO_TRY(co_await tables.followers(table));
    }
  }
  std::map<std::string, Progress> progresses;  // read after the logs, as above
  for (auto& [id, progress] : CO_TRY(co_await store.all_progress())) progresses.emplace(id, std::move(progress));
  const auto owners = CO_TRY(co_await store.all_owners());
  std::vector<Status> out;
  for (auto& index : indexes) {
    auto& status = out.emplace_back();
    const auto progress = progresses.find(index.id);
    if (progress != progresses.end()) status.progress = progress->second;
    status.follower = follower_in(followers[to_lower_ascii(index.definition.source)], index.id);
    if (!index.definition.referred().empty()) {
      status.follower = together(std::move(status.follower),
                                 follower_in(followers[to_lower_ascii(index.definition.entities())], index.id));
    }
    status.index = std::move(index);
    add_owner(owners, status);
  }
  co_return out;
}

}  // namespace tidemark::indexes
