#include "workers/indexes/stray_followers.h"

#include <algorithm>

#include "indexes/store/index_store.h"

namespace tidemark::workers {
namespace {

struct TableFollower {
  std::string table, follower;
};

bool is_index_id(std::string_view follower) {
  constexpr std::size_t kGuidLength = 36;
  if (follower.size() <= kGuidLength) return false;
  const auto guid = follower.substr(follower.size() - kGuidLength);
  const auto name = follower.substr(0, follower.size() - kGuidLength);
  return name.ends_with('-') && indexes::is_index_name(name.substr(0, name.size() - 1)) &&
         table_store::parse_guid(guid);
}

}  // namespace

// Followers before definitions: an index is declared before it follows, and its id is never used again.
Task<Result<void>> remove_stray_followers(JobServices services) {
  std::vector<TableFollower> found;
  for (const auto& table : CO_TRY(co_await services.tables.followed_tables())) {
    for (const auto& status : CO_TRY(co_await services.tables.followers(table))) {
      const auto& follower = status.following.follower;
      if (is_index_id(follower)) found.push_back({table, follower});
    }
  }
  if (found.empty()) co_return Result<void>{};
  indexes::IndexStore store(services.tables, services.clock, services.random);
  const auto declared = CO_TRY(co_await store.all());
  for (auto& [table, follower] : found) {
    if (std::ranges::find(declared, follower, &indexes::Index::id) != declared.end()) continue;
    CO_TRY(co_await services.tables.unfollow(std::move(table), std::move(follower)));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::workers
