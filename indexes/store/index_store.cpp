#include "indexes/store/index_store.h"

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "indexes/store/read_entities.h"

namespace tidemark::indexes {
namespace {

using jobs::erasure_of;
using jobs::Field;
using jobs::property_or;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::Property;
using table_store::Version;

constexpr const char* kDefinitions = "definitions";
constexpr std::size_t kMaxErrorBytes = 2000;

constexpr std::tuple kIndexFields{
    Field{"Id", &Index::id},
    Field{"CreatedAt", &Index::created_at},
    Field{"Paused", &Index::paused},
    Field{"Dropping", &Index::dropping},
    Field{"RebuildsAsked", &Index::rebuilds_asked},
    Field{"ScrubsAsked", &Index::scrubs_asked},
};

constexpr std::tuple kViolationFields{
    Field{"Count", &Violation::count},
    Field{"Examples", &Violation::examples},
};

std::string violations_of(const std::string& id) { return "violations " + id; }
std::string untold_of(const std::string& id) { return "untold " + id; }
std::string index_table() { return std::string(kIndexTable); }

std::vector<Property> properties_of(const Index& index) {
  std::vector<Property> out{{"Definition", to_json(index.definition).dump()}};
  jobs::add_properties(out, index, kIndexFields);
  return out;
}

Result<Index> index_of(const Entity& row) {
  auto definition = parse_definition(std::string_view(property_or<std::string>(row, "Definition")));
  Index out;
  const bool good = jobs::read_properties(row, out, kIndexFields) && !out.id.empty();
  if (!definition || !good || !is_index_name(row.row_key)) {
    return fail(ErrorCode::kCorruption, "The row of index " + row.row_key + " does not have the expected form.");
  }
  out.name = row.row_key;
  out.definition = std::move(*definition);
  out.version = row.version;
  return out;
}

Progress progress_of(const Entity& row) {
  Progress out;
  jobs::read_properties(row, out, kProgressFields);
  out.version = row.version;
  return out;
}

/// The name of the index in the message of until_swapped().
std::string the_index(const std::string& name) { return "Index " + name; }

std::unexpected<Error> unknown(const std::string& name) {
  return fail(ErrorCode::kIndexNotFound, "There is no index " + name + ".");
}

std::unexpected<Error> another(const std::string& name) {
  return fail(
      ErrorCode::kIndexInvalid,
      "An index named " + name +
          " already exists with another definition: drop it first, or choose another name. `tidemark index show " +
          name + "` prints its definition.");
}

std::unexpected<Error> being_dropped(const std::string& name) {
  return fail(ErrorCode::kIndexInvalid, "Index " + name + " is being dropped. Wait until it is gone.");
}

/// Applies the wish to the index, and tells whether that changes anything.
bool grant(const IndexStore::Wish& wish, Index& index) {
  const bool paused = wish.paused.value_or(index.paused);
  const bool changes = paused != index.paused || (wish.drop && !index.dropping) || wish.rebuild || wish.scrub;
  index.paused = paused;
  index.dropping = index.dropping || wish.drop;
  if (wish.rebuild) ++index.rebuilds_asked;
  if (wish.scrub) ++index.scrubs_asked;
  return changes;
}

/// Tells whether the definition can be changed like this without building the index anew.
bool may_become(const Definition& had, Definition wanted) {
  wanted.answer_queries(had.answers_queries());
  return had == wanted;
}

jobs::PartitionRows in(table_store::TableClient& tables, std::string partition) {
  return {tables, kIndexTable, std::move(partition)};
}

Task<Result<ViolationPage>> violations_in(jobs::PartitionRows rows, std::uint32_t limit, std::string continuation) {
  auto page = CO_TRY(co_await rows.page(limit, std::move(continuation)));
  ViolationPage out;
  out.continuation = std::move(page.continuation);
  for (const auto& row : page.entities) {
    auto& violation = out.violations.emplace_back();
    violation.group = row.row_key;
    out.versions.push_back(row.version);
    jobs::read_properties(row, violation, kViolationFields);
  }
  co_return out;
}

}  // namespace

IndexStore::IndexStore(table_store::TableClient& tables, Clock& clock, Random& random)
    : OwnerRows(tables, kIndexTable, 4 * kMaxIndexes),
      tables_(tables),
      definitions_(in(tables, kDefinitions)),
      progress_(in(tables, kProgressPartition)),
      mark_(tables, kIndexTable),
      clock_(clock),
      random_(random) {}

Task<Result<std::optional<Index>>> IndexStore::find(std::string name) {
  if (!is_index_name(name)) co_return std::nullopt;
  const auto row = CO_TRY(co_await definitions_.find(std::move(name)));
  if (!row) co_return std::nullopt;
  co_return CO_TRY(index_of(*row));
}

Task<Result<std::vector<Index>>> IndexStore::all() {
  std::vector<Index> out;
  for (const auto& row : CO_TRY(co_await definitions_.all(4 * kMaxIndexes))) {
    // The table is open to every SDK; a row that somebody else put there must not hide the indexes.
    if (auto index = index_of(row)) out.push_back(std::move(*index));
  }
  co_return out;
}

Task<Result<bool>> IndexStore::has_definition(std::string name, std::string id) {
  const auto row = CO_TRY(co_await definitions_.find(std::move(name)));
  const bool declares = row && property_or<std::string>(*row, "Id") == id;
  co_return declares;
}

/// Inserts the index's row or, by compare-and-swap, replaces it. Returns false if somebody else changed the row.
Task<Result<bool>> IndexStore::swap(Index& index) {
  // The fence comes before those of all owners: a request that arrives late or twice does not bring a dropped index
  // back.
  std::optional<table_store::Fence> born;
  if (index.version == 0) born = {operation_of(index.id), 0, "", 0};
  return definitions_.swap(index.name, index.version, properties_of(index), std::move(born));
}

Task<Result<IndexStore::Stored>> IndexStore::put(std::string name, Definition definition) {
  const auto attempt = [&]() -> Task<Result<std::optional<Stored>>> {
    auto found = CO_TRY(co_await find(name));
    if (found && found->dropping) co_return being_dropped(name);
    if (found && !may_become(found->definition, definition)) co_return another(name);
    if (found && found->definition == definition) co_return Stored{std::move(*found), false};
    if (!found && CO_TRY(co_await all()).size() >= kMaxIndexes) co_return fail(ErrorCode::kTooManyIndexes);
    Stored out{found.value_or(Index()), !found};
    auto& index = out.index;
    if (out.created) {
      index.name = name;
      index.id = name + "-" + random_.guid();
      index.created_at = clock_.now();
    }
    index.definition = definition;
    if (!CO_TRY(co_await swap(index))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return std::move(out);
  };
  co_return co_await jobs::until_swapped<Stored>(the_index(name), attempt);
}

Task<Result<Index>> IndexStore::ask(std::string name, Wish wish) {
  const auto attempt = [&]() -> Task<Result<std::optional<Index>>> {
    auto found = CO_TRY(co_await find(name));
    if (!found) co_return unknown(name);
    if (found->dropping && !wish.drop) co_return being_dropped(name);
    if (!grant(wish, *found)) co_return found;
    if (!CO_TRY(co_await swap(*found))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return found;
  };
  co_return co_await jobs::until_swapped<Index>(the_index(name), attempt);
}

Task<Result<Version>> IndexStore::changes() { return mark_.read(); }

Task<Result<std::optional<Progress>>> IndexStore::progress(std::string id) {
  const auto row = CO_TRY(co_await progress_.find(std::move(id)));
  if (!row) co_return std::nullopt;
  co_return progress_of(*row);
}

Task<Result<std::vector<std::pair<std::string, Progress>>>> IndexStore::all_progress() {
  std::vector<std::pair<std::string, Progress>> out;
  for (const auto& row : CO_TRY(co_await progress_.all(4 * kMaxIndexes))) {
    out.emplace_back(row.row_key, progress_of(row));
  }
  co_return out;
}

Task<Result<void>> IndexStore::write_progress(std::string id, Progress progress, table_store::Fence fence) {
  progress.last_error = beginning_of(progress.last_error, kMaxErrorBytes);
  std::vector<Property> properties;
  jobs::add_properties(properties, progress, kProgressFields);
  co_return co_await progress_.put(std::move(id), std::move(properties), std::move(fence));
}

table_store::PartitionMutations violation_row(const std::string& id, std::string_view group,
                                              const std::optional<Violation>& violation) {
  Mutation mutation;
  mutation.kind = violation ? MutationKind::kInsertOrReplace : MutationKind::kErase;
  mutation.row_key = std::string(group);
  mutation.lenient = true;
  if (violation) jobs::add_properties(mutation.properties, *violation, kViolationFields);
  return {index_table(), violations_of(id), {std::move(mutation)}};
}

table_store::PartitionMutations untold_row(const std::string& id, const Violation& violation) {
  Mutation mutation;
  mutation.row_key = violation.group;
  mutation.lenient = true;
  jobs::add_properties(mutation.properties, violation, kViolationFields);
  return {index_table(), untold_of(id), {std::move(mutation)}};
}

Task<Result<std::vector<bool>>> are_violated(table_store::TableClient& tables, std::string id,
                                             std::vector<std::string> groups) {
  std::vector<jobs::EntityKey> keys;
  for (auto& group : groups) keys.push_back({violations_of(id), std::move(group)});
  const auto rows = CO_TRY(co_await read_entities(tables, index_table(), std::move(keys)));
  std::vector<bool> out;
  for (const auto& row : rows) out.push_back(row.has_value());
  co_return out;
}

Task<Result<ViolationPage>> noted_violations(table_store::TableClient& tables, std::string id,
                                             std::string continuation) {
  return violations_in(in(tables, violations_of(id)), 100, std::move(continuation));
}

Task<Result<ViolationPage>> IndexStore::untold(std::string id) {
  return violations_in(in(tables_, untold_of(id)), 100, {});
}

Task<Result<void>> IndexStore::note_told(std::string id, std::string group, Version version) {
  CO_TRY(co_await in(tables_, untold_of(id)).erase(std::move(group), version));
  co_return Result<void>{};
}

Task<Result<ViolationPage>> IndexStore::violations(std::string id, std::uint32_t limit, std::string continuation) {
  return violations_in(in(tables_, violations_of(id)), limit, std::move(continuation));
}

Task<Result<void>> IndexStore::forget_violations(std::string id) {
  for (const auto& partition : {violations_of(id), untold_of(id)}) {
    while (true) {
      const auto page = CO_TRY(co_await violations_in(in(tables_, partition), 100, {}));
      std::vector<Mutation> erasures;
      for (const auto& violation : page.violations) erasures.push_back(erasure_of(violation.group, {}));
      if (erasures.empty()) break;
      CO_TRY(co_await tables_.mutate(index_table(), partition, std::move(erasures), std::nullopt));
    }
  }
  co_return Result<void>{};
}

Task<Result<void>> IndexStore::forget(Index index) {
  CO_TRY(co_await forget_violations(index.id));
  CO_TRY(co_await progress_.erase(index.id));
  const auto found = CO_TRY(co_await find(index.name));
  if (found && found->id == index.id && !CO_TRY(co_await definitions_.erase(index.name, found->version))) {
    co_return fail(ErrorCode::kServerBusy, the_index(index.name) + " is being changed by others. Please retry.");
  }
  co_return co_await mark_.raise();
}

}  // namespace tidemark::indexes
