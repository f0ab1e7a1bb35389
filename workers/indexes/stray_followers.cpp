#include "workers/indexes/stray_followers.h"

#include "indexes/store/index_store.h"

namespace tidemark::workers {
namespace {

/// Returns the name in the id of an index; nothing if it is not the id of an index.
std::optional<std::string> name_in(std::string_view id) {
  constexpr std::size_t kGuidLength = 36;
  if (id.size() <= kGuidLength + 1) return std::nullopt;
  const auto name = id.substr(0, id.size() - kGuidLength - 1);
  const bool good =
      id[name.size()] == '-' && indexes::is_index_name(name) && table_store::parse_guid(id.substr(name.size() + 1));
  return good ? std::optional(std::string(name)) : std::nullopt;
}

}  // namespace

// Followers are read before definitions: an index is declared before it follows, and its id is never used again. Each
// definition is looked up by its row, because a list of all would lack those that cannot be read; such an index may go
// on when somebody has mended the row.
Task<Result<void>> remove_stray_followers(JobServices services) {
  indexes::IndexStore store(services.tables, services.clock, services.random);
  for (const auto& table : CO_TRY(co_await services.tables.followed_tables())) {
    for (const auto& status : CO_TRY(co_await services.tables.followers(table))) {
      const auto& follower = status.following.follower;
      const auto name = name_in(follower);
      if (!name || CO_TRY(co_await store.has_definition(*name, follower))) continue;
      CO_TRY(co_await services.tables.unfollow(table, follower));
    }
  }
  co_return Result<void>{};
}

// Owners are read before definitions, for the same reason. The owner's row goes last, because it says that something
// may be left.
Task<Result<void>> finish_drops(JobServices services) {
  indexes::IndexStore store(services.tables, services.clock, services.random);
  for (const auto& [id, owner] : CO_TRY(co_await store.all_owners())) {
    const auto name = name_in(id);
    if (!name || CO_TRY(co_await store.has_definition(*name, id))) continue;
    CO_TRY(co_await services.tables.end_operation(indexes::operation_of(id)));
    CO_TRY(co_await store.forget_owner(id));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::workers
