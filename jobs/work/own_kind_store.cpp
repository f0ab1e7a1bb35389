#include "jobs/work/own_kind_store.h"

#include "common/base/json.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/job_record.h"

namespace tidemark::jobs {
namespace {

constexpr const char* kKindPartition = "kinds";

/// Returns nothing for a row that is no declaration.
std::optional<OwnKind> kind_in(const table_store::Entity& row) {
  const auto parsed = json_or_discarded(property_or<std::string>(row, "Definition"));
  if (!parsed.is_object() || !is_own_kind_name(row.row_key)) return std::nullopt;
  OwnKind kind;
  SpecMembers in(parsed);
  kind.members(in);
  if (!in.problems().empty()) return std::nullopt;
  kind.name = row.row_key;
  return kind;
}

}  // namespace

OwnKindStore::OwnKindStore(table_store::TableClient& tables) : rows_(tables, kJobTable, kKindPartition) {}

Task<Result<OwnKindStore::Stored>> OwnKindStore::put(OwnKind kind) {
  const auto attempt = [&]() -> Task<Result<std::optional<Stored>>> {
    const auto found = CO_TRY(co_await rows_.find(kind.name));
    if (!found && CO_TRY(co_await all()).size() >= kMostOwnKinds) {
      co_return fail(ErrorCode::kInvalidInput,
                     "There can be at most " + std::to_string(kMostOwnKinds) + " kinds of your own. Drop one first.");
    }
    auto version = found ? found->version : 0;
    const bool written = CO_TRY(co_await rows_.swap(kind.name, version, {{"Definition", members_json(kind).dump()}}));
    co_return written ? std::optional(Stored{kind, !found}) : std::nullopt;
  };
  co_return co_await until_swapped<Stored>("The kind " + kind.name, attempt);
}

Task<Result<OwnKinds>> OwnKindStore::all() const {
  OwnKinds out;
  for (const auto& row : CO_TRY(co_await rows_.all(kMostOwnKinds))) {
    if (auto kind = kind_in(row)) out.push_back(std::move(*kind));
  }
  co_return out;
}

Task<Result<std::optional<OwnKind>>> OwnKindStore::find(std::string name) const {
  const auto row = CO_TRY(co_await rows_.find(std::move(name)));
  co_return row ? kind_in(*row) : std::nullopt;
}

Task<Result<bool>> OwnKindStore::remove(std::string name) { co_return co_await rows_.erase(std::move(name)); }

}  // namespace tidemark::jobs
