#include "feeds/on_change/on_change_store.h"

#include <algorithm>
#include <set>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"

namespace tidemark::feeds {
namespace {

using jobs::Field;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::Property;

constexpr const char* kDefinitions = "definitions";
constexpr const char* kProgress = "progress";
constexpr const char* kChanges = "changes";
constexpr const char* kChangesRow = "last";
constexpr int kMaxRaces = 16;
constexpr std::size_t kMaxErrorBytes = 2000;

constexpr std::tuple kFields{
    Field{"Table", &OnChange::table},
    Field{"Name", &OnChange::name},
    Field{"Id", &OnChange::id},
    Field{"Start", &OnChange::start},
    Field{"ResumeAfter", &OnChange::resume_after, jobs::kSparse},
    Field{"CreatedAt", &OnChange::created_at},
    Field{"ResumesAsked", &OnChange::resumes_asked},
};

constexpr std::tuple kProgressFields{
    Field{"State", &OnChangeProgress::state},
    Field{"Token", &OnChangeProgress::token},
    Field{"Told", &OnChangeProgress::told},
    Field{"PassedBy", &OnChangeProgress::passed_by},
    Field{"Failed", &OnChangeProgress::failed, jobs::kSparse},
    Field{"Attempts", &OnChangeProgress::attempts},
    Field{"LastError", &OnChangeProgress::last_error, jobs::kSparse},
    Field{"LastErrorAt", &OnChangeProgress::last_error_at},
    Field{"Resumes", &OnChangeProgress::resumes},
};

std::string its_table() { return std::string(kOnChangeTable); }
std::string row_of(const std::string& table, const std::string& name) { return to_lower_ascii(table) + " " + name; }

std::optional<OnChange> on_change_of(const Entity& row) {
  OnChange out;
  const auto text = jobs::property_or<std::string>(row, "Definition");
  auto definition = parse_on_change_definition(json_or_discarded(text));
  const bool good = jobs::read_properties(row, out, kFields) && !out.id.empty() && is_on_change_name(out.name);
  if (!definition || !good || row_of(out.table, out.name) != row.row_key) return std::nullopt;
  out.definition = std::move(*definition);
  out.version = row.version;
  return out;
}

std::unexpected<Error> unknown(const std::string& table, const std::string& name) {
  return fail(ErrorCode::kOnChangeNotFound, table + " has no on-change declaration named " + name + ".");
}

std::unexpected<Error> contended(const std::string& name) {
  return fail(ErrorCode::kServerBusy, name + " is being changed by others. Please retry.");
}

}  // namespace

std::string operation_of(const std::string& id) { return "on-change/" + id; }

Task<Result<OnChange>> OnChangeStore::get(std::string table, std::string name) {
  auto read = co_await tables_.get(its_table(), kDefinitions, row_of(table, name));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return unknown(table, name);
  const auto row = CO_TRY(std::move(read));
  auto found = row ? on_change_of(*row) : std::nullopt;
  if (!found) co_return unknown(table, name);
  co_return std::move(*found);
}

Task<Result<std::vector<OnChange>>> OnChangeStore::all() {
  std::vector<OnChange> out;
  for (const auto& row : CO_TRY(co_await rows_in(kDefinitions))) {
    if (auto one = on_change_of(row)) out.push_back(std::move(*one));
  }
  co_return out;
}

Task<Result<std::vector<Entity>>> OnChangeStore::rows_in(const char* partition) {
  std::vector<Entity> out;
  auto request = jobs::rows_of(partition);
  request.table = its_table();
  do {
    auto read = co_await tables_.query(request);
    if (read.failed_with(ErrorCode::kTableNotFound)) co_return out;
    auto page = CO_TRY(std::move(read));
    std::ranges::move(page.entities, std::back_inserter(out));
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return out;
}

/// Inserts the declaration's row or, by compare-and-swap, replaces it. Returns false if somebody else changed the row.
Task<Result<bool>> OnChangeStore::swap(OnChange& on_change) {
  std::vector<Property> properties{{"Definition", to_json(on_change.definition).dump()}};
  jobs::add_properties(properties, on_change, kFields);
  const auto seen = on_change.version == 0 ? std::nullopt : std::optional(on_change.version);
  auto mutation = jobs::write_of(row_of(on_change.table, on_change.name), seen, std::move(properties));
  const auto written =
      CO_TRY(co_await jobs::change_row(tables_, its_table(), kDefinitions, std::move(mutation), std::nullopt));
  if (written) on_change.version = *written;
  co_return written.has_value();
}

Task<Result<void>> OnChangeStore::tell() {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = kChangesRow;
  CO_TRY(co_await jobs::change_row(tables_, its_table(), kChanges, std::move(mutation), std::nullopt));
  co_return Result<void>{};
}

Task<Result<table_store::Version>> OnChangeStore::changes() {
  auto read = co_await tables_.get(its_table(), kChanges, kChangesRow);
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return 0;
  const auto row = CO_TRY(std::move(read));
  co_return row ? row->version : 0;
}

Task<Result<OnChangeStore::Stored>> OnChangeStore::put(std::string table, std::string name,
                                                       OnChangeDefinition definition, std::string start) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto found = co_await get(table, name);
    if (found && found->definition == definition) co_return Stored{std::move(*found), false};
    if (found) {
      co_return fail(ErrorCode::kOnChangeInvalid,
                     "Another declaration has the name " + name + ": remove it first, or choose another name.");
    }
    if (!found.failed_with(ErrorCode::kOnChangeNotFound)) co_return fail(std::move(found.error()));
    if (CO_TRY(co_await all()).size() >= kMaxOnChanges) co_return fail(ErrorCode::kTooManyOnChanges);
    OnChange made;
    made.table = table;
    made.name = name;
    made.id = name + "-" + random_.guid();
    made.definition = definition;
    made.start = start;
    made.created_at = clock_.now();
    if (!CO_TRY(co_await swap(made))) continue;
    CO_TRY(co_await tell());
    co_return Stored{std::move(made), true};
  }
  co_return contended(name);
}

Task<Result<OnChange>> OnChangeStore::resume(std::string table, std::string name, std::string after) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto found = CO_TRY(co_await get(table, name));
    ++found.resumes_asked;
    found.resume_after = after;
    if (!CO_TRY(co_await swap(found))) continue;
    CO_TRY(co_await tell());
    co_return found;
  }
  co_return contended(name);
}

Task<Result<void>> OnChangeStore::remove(std::string table, std::string name) {
  const auto found = co_await get(table, name);
  if (found) {
    CO_TRY(co_await jobs::change_row(tables_, its_table(), kDefinitions, jobs::erasure_of(row_of(table, name), {}),
                                     std::nullopt));
    CO_TRY(co_await tell());
    CO_TRY(co_await remove_rest(found->id));
  }
  CO_TRY(co_await finish_removals());
  CO_TRY(found);
  co_return Result<void>{};
}

/// Removes all rows but the definition. The owner's row goes last, because it says that something may be left.
Task<Result<void>> OnChangeStore::remove_rest(std::string id) {
  CO_TRY(co_await tables_.end_operation(operation_of(id)));
  CO_TRY(co_await jobs::change_row(tables_, its_table(), kProgress, jobs::erasure_of(id, {}), std::nullopt));
  co_return co_await forget_owner(std::move(id));
}

// Owners and progress are read before definitions: a declaration is there before either, and its id is never used
// again. A row counts as a declaration even if its definition cannot be read.
Task<Result<void>> OnChangeStore::finish_removals() {
  std::set<std::string> ids;
  for (const auto& [id, owner] : CO_TRY(co_await all_owners())) {
    if (!id.starts_with(jobs::kKeeperRow)) ids.insert(id);
  }
  for (const auto& row : CO_TRY(co_await rows_in(kProgress))) ids.insert(row.row_key);
  if (ids.empty()) co_return Result<void>{};
  for (const auto& row : CO_TRY(co_await rows_in(kDefinitions))) ids.erase(jobs::property_or<std::string>(row, "Id"));
  for (const auto& id : ids) CO_TRY(co_await remove_rest(id));
  co_return Result<void>{};
}

Task<Result<OnChangeProgress>> OnChangeStore::progress(std::string id) {
  OnChangeProgress out;
  auto read = co_await tables_.get(its_table(), kProgress, std::move(id));
  if (read.failed_with(ErrorCode::kTableNotFound)) co_return out;
  const auto row = CO_TRY(std::move(read));
  if (!row) co_return out;
  jobs::read_properties(*row, out, kProgressFields);
  out.version = row->version;
  co_return out;
}

Task<Result<void>> OnChangeStore::write_progress(std::string id, OnChangeProgress progress, table_store::Fence fence) {
  progress.last_error = beginning_of(progress.last_error, kMaxErrorBytes);
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = std::move(id);
  jobs::add_properties(mutation.properties, progress, kProgressFields);
  CO_TRY(co_await jobs::change_row(tables_, its_table(), kProgress, std::move(mutation), std::move(fence)));
  co_return Result<void>{};
}

}  // namespace tidemark::feeds
