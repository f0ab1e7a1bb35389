#include "feeds/on_change/on_change_store.h"

#include <algorithm>
#include <set>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/store/fields.h"

namespace tidemark::feeds {
namespace {

using jobs::Field;
using table_store::Entity;
using table_store::Property;

constexpr const char* kDefinitions = "definitions";
constexpr const char* kProgress = "progress";
constexpr std::size_t kMaxErrorBytes = 2000;

constexpr std::tuple kFields{
    Field{"Table", &OnChange::table},
    Field{"Name", &OnChange::name},
    Field{"Id", &OnChange::id},
    Field{"Start", &OnChange::start},
    Field{"ResumeAfter", &OnChange::resume_after, jobs::kSparse},
    Field{"CreatedAt", &OnChange::created_at},
    Field{"ResumesAsked", &OnChange::resumes_asked},
    Field{"Paused", &OnChange::paused, jobs::kSparse},
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
    Field{"Day", &OnChangeProgress::day, jobs::kSparse},
    Field{"MadeToday", &OnChangeProgress::made_today, jobs::kSparse},
};

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

}  // namespace

std::string operation_of(const std::string& id) { return "on-change/" + id; }

OnChangeStore::OnChangeStore(table_store::TableClient& tables, Clock& clock, Random& random)
    : OwnerRows(tables, kOnChangeTable, 4 * kMaxOnChanges),
      tables_(tables),
      definitions_(tables, kOnChangeTable, kDefinitions),
      progress_(tables, kOnChangeTable, kProgress),
      mark_(tables, kOnChangeTable),
      clock_(clock),
      random_(random) {}

Task<Result<OnChange>> OnChangeStore::get(std::string table, std::string name) {
  const auto row = CO_TRY(co_await definitions_.find(row_of(table, name)));
  auto found = row ? on_change_of(*row) : std::nullopt;
  if (!found) co_return unknown(table, name);
  co_return std::move(*found);
}

Task<Result<std::vector<OnChange>>> OnChangeStore::all() {
  std::vector<OnChange> out;
  for (const auto& row : CO_TRY(co_await definitions_.all())) {
    if (auto one = on_change_of(row)) out.push_back(std::move(*one));
  }
  co_return out;
}

/// Inserts the declaration's row or, by compare-and-swap, replaces it. Returns false if somebody else changed the row.
Task<Result<bool>> OnChangeStore::swap(OnChange& on_change) {
  std::vector<Property> properties{{"Definition", to_json(on_change.definition).dump()}};
  jobs::add_properties(properties, on_change, kFields);
  co_return co_await definitions_.swap(row_of(on_change.table, on_change.name), on_change.version,
                                       std::move(properties));
}

Task<Result<table_store::Version>> OnChangeStore::changes() { return mark_.read(); }

Task<Result<OnChangeStore::Stored>> OnChangeStore::put(std::string table, std::string name,
                                                       OnChangeDefinition definition, std::string start) {
  const auto attempt = [&]() -> Task<Result<std::optional<Stored>>> {
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
    if (!CO_TRY(co_await swap(made))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return Stored{std::move(made), true};
  };
  co_return co_await jobs::until_swapped<Stored>(name, attempt);
}

Task<Result<OnChange>> OnChangeStore::change(std::string table, std::string name,
                                             std::function<void(OnChange&)> change) {
  const auto attempt = [&]() -> Task<Result<std::optional<OnChange>>> {
    auto found = CO_TRY(co_await get(table, name));
    change(found);
    if (!CO_TRY(co_await swap(found))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return found;
  };
  co_return co_await jobs::until_swapped<OnChange>(name, attempt);
}

Task<Result<OnChange>> OnChangeStore::pause(std::string table, std::string name) {
  co_return co_await change(std::move(table), std::move(name), [](OnChange& found) { found.paused = true; });
}

Task<Result<OnChange>> OnChangeStore::resume(std::string table, std::string name, std::string after) {
  co_return co_await change(std::move(table), std::move(name), [&after](OnChange& found) {
    ++found.resumes_asked;
    found.resume_after = after;
    found.paused = false;
  });
}

Task<Result<void>> OnChangeStore::remove(std::string table, std::string name) {
  const auto found = co_await get(table, name);
  if (found) {
    CO_TRY(co_await definitions_.erase(row_of(table, name)));
    CO_TRY(co_await mark_.raise());
    CO_TRY(co_await remove_rest(found->id));
  }
  CO_TRY(co_await finish_removals());
  CO_TRY(found);
  co_return Result<void>{};
}

/// Removes all rows but the definition. The owner's row goes last, because it says that something may be left.
Task<Result<void>> OnChangeStore::remove_rest(std::string id) {
  CO_TRY(co_await tables_.end_operation(operation_of(id)));
  CO_TRY(co_await progress_.erase(id));
  co_return co_await forget_owner(std::move(id));
}

// Owners and progress are read before definitions: a declaration is there before either, and its id is never used
// again. A row counts as a declaration even if its definition cannot be read.
Task<Result<void>> OnChangeStore::finish_removals() {
  std::set<std::string> ids;
  for (const auto& [id, owner] : CO_TRY(co_await all_owners())) {
    if (!id.starts_with(jobs::kKeeperRow)) ids.insert(id);
  }
  for (const auto& row : CO_TRY(co_await progress_.all())) ids.insert(row.row_key);
  if (ids.empty()) co_return Result<void>{};
  for (const auto& row : CO_TRY(co_await definitions_.all())) ids.erase(jobs::property_or<std::string>(row, "Id"));
  for (const auto& id : ids) CO_TRY(co_await remove_rest(id));
  co_return Result<void>{};
}

Task<Result<OnChangeProgress>> OnChangeStore::progress(std::string id) {
  OnChangeProgress out;
  const auto row = CO_TRY(co_await progress_.find(std::move(id)));
  if (!row) co_return out;
  jobs::read_properties(*row, out, kProgressFields);
  out.version = row->version;
  co_return out;
}

Task<Result<void>> OnChangeStore::write_progress(std::string id, OnChangeProgress progress, table_store::Fence fence) {
  progress.last_error = beginning_of(progress.last_error, kMaxErrorBytes);
  std::vector<Property> properties;
  jobs::add_properties(properties, progress, kProgressFields);
  co_return co_await progress_.put(std::move(id), std::move(properties), std::move(fence));
}

}  // namespace tidemark::feeds
