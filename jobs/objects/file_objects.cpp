#include "jobs/objects/file_objects.h"

#include <algorithm>

#include "common/base/fail_points.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;

const FailPoint kFileRenamed("file.rename", "after");
const FailStep kFileRow("file.row");
const FailPoint kFileUnrowed("file.erase", "after");

constexpr int kRaces = 20;

std::string name_of_row(std::string row_key) {
  std::replace(row_key.begin(), row_key.end(), ' ', '/');
  return row_key;
}

/// Reads the file, after fetching it from quarantine if it is there and its row has come back.
Result<std::optional<std::string>> read_or_fetch(const FileTree& tree, const std::string& file) {
  auto bytes = TRY(tree.read(file, kMaxFileBytes));
  if (bytes || !TRY(tree.put_back(file))) return bytes;
  return tree.read(file, kMaxFileBytes);
}

}  // namespace

std::string catalog_key(std::string name) {
  std::replace(name.begin(), name.end(), '/', ' ');
  return name;
}

Task<Result<void>> FileObjects::prepare() { return make_ours(); }

Task<Result<void>> FileObjects::make_ours() {
  if (ours_) co_return Result<void>{};
  CO_TRY(co_await owner_.claim());
  ours_ = true;
  co_return Result<void>{};
}

Task<Result<void>> FileObjects::require() {
  const auto found = CO_TRY(co_await owner_.look());
  if (found.whose == Ownership::kStrange) co_return fail(ErrorCode::kJobInvalid, found.problem);
  if (found.whose == Ownership::kOurs) co_return Result<void>{};
  co_return fail(ErrorCode::kContainerNotFound,
                 "Nothing was ever archived in the directory '" + directory_.name + "'.");
}

std::unexpected<Error> FileObjects::kept_changing(const std::string& name) const {
  return fail(ErrorCode::kConditionNotMet, "The file '" + name + "' kept changing.");
}

Task<Result<bool>> FileObjects::open(Fence fence) {
  // Done even at the first delivery: before the first file exists, the ledger must know its writer, or the collector
  // would take it for one that is gone.
  CO_TRY(co_await tables_.open_operation(std::move(fence.operation_id), fence.epoch, fence.since));
  const auto found = CO_TRY(co_await owner_.look_and_stamp());
  if (found.whose == Ownership::kStrange) co_return fail(ErrorCode::kJobInvalid, found.problem);
  ours_ = found.whose == Ownership::kOurs;
  co_return false;
}

Task<Result<std::optional<FileObjects::Row>>> FileObjects::find(std::string name) {
  auto entity = co_await tables_.get(std::string(kFileTable), directory_.name, catalog_key(name));
  if (entity.failed_with(ErrorCode::kTableNotFound)) co_return std::optional<Row>();
  if (!entity) co_return fail(std::move(entity.error()));
  if (!entity->has_value()) co_return std::optional<Row>();
  co_return row_from(**entity, name);
}

FileObjects::Row FileObjects::row_from(const Entity& entity, const std::string& object) {
  Row row{entity.version, property_or<std::string>(entity, "File")};
  row.name = parse_file_path(row.file);
  const auto version = property_or<std::int64_t>(entity, "Version");
  // A client that may write rows must not be able to choose which file is read under this name, or removed.
  if (row.name && (row.name->object != object || row.name->version != version)) row.name.reset();
  return row;
}

Task<Result<WriteOutcome>> FileObjects::put(ObjectWrite write, Fence fence) {
  CO_TRY(co_await make_ours());
  const FileName named{write.name, write.version, {fence.operation_id, fence.epoch}};
  const auto file = file_path(named);
  const auto size = write.bytes.size();
  CO_TRY(co_await on(directory_.blocking,
                     [tree = directory_.tree, file, temporary = temporary_name(named),
                      bytes = std::exchange(write.bytes, {})] { return tree->write(file, temporary, bytes); }));
  kFileRenamed.reach();
  for (int race = 0; race < kRaces; ++race) {
    auto old = CO_TRY(co_await find(write.name));
    const auto replaced = old && old->name ? old->file : std::string();
    auto outcome = CO_TRY(co_await commit(write, file, size, old, fence));
    if (!outcome) continue;
    const auto& useless = *outcome == WriteOutcome::kApplied ? replaced : file;
    const bool named_by_row = *outcome != WriteOutcome::kApplied && replaced == file;
    if (!useless.empty() && !named_by_row) {
      co_await remove_file(useless);
    }
    co_return *outcome;
  }
  co_return kept_changing(write.name);
}

Task<Result<WriteOutcome>> FileObjects::enter(FileName name, std::size_t size, std::string type, Fence fence) {
  ObjectWrite write{.name = name.object, .bytes = {}, .type = std::move(type), .version = name.version};
  const auto file = file_path(name);
  for (int race = 0; race < kRaces; ++race) {
    auto old = CO_TRY(co_await find(write.name));
    const bool stands = old && old->name &&
                        CO_TRY(co_await on(directory_.blocking,
                                           [tree = directory_.tree, there = old->file] { return tree->has(there); }));
    // A row without its file does not count any more.
    if (old && old->name && !stands) old->name->version = INT64_MIN;
    auto outcome = CO_TRY(co_await commit(write, file, size, std::move(old), fence));
    if (outcome) co_return *outcome;
  }
  co_return kept_changing(write.name);
}

Task<Result<std::optional<WriteOutcome>>> FileObjects::commit(ObjectWrite write, std::string file, std::size_t size,
                                                              std::optional<Row> old, Fence fence) {
  if (old && !old->name) co_return WriteOutcome::kSuperseded;
  if (old && old->name->version == write.version) co_return WriteOutcome::kUnchanged;
  const bool may =
      write.replaces ? old && old->name->version == *write.replaces : !old || old->name->version < write.version;
  if (!may) co_return WriteOutcome::kSuperseded;
  const auto seen = old ? std::optional(old->row_version) : std::nullopt;
  std::vector<table_store::Property> properties{{"File", std::move(file)},
                                                {"Version", write.version},
                                                {"Size", static_cast<std::int64_t>(size)},
                                                {"Type", std::move(write.type)}};
  std::vector<Mutation> mutations{write_of(catalog_key(std::move(write.name)), seen, std::move(properties))};
  auto outcomes = co_await kFileRow.around(
      tables_.mutate(std::string(kFileTable), directory_.name, std::move(mutations), std::move(fence)));
  if (outcomes.failed_with(ErrorCode::kTableNotFound)) {
    // The catalog was dropped while the job ran. Without it, the directory belongs to a stranger.
    ours_ = false;
    CO_TRY(co_await make_ours());
    co_return std::optional<WriteOutcome>();
  }
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  if (outcomes->front().kind != WriteOutcome::kApplied) co_return std::optional<WriteOutcome>();
  co_return WriteOutcome::kApplied;
}

Task<Result<WriteOutcome>> FileObjects::erase(std::string name, std::int64_t version, Fence fence) {
  for (int race = 0; race < kRaces; ++race) {
    auto row = CO_TRY(co_await find(name));
    if (!row) co_return WriteOutcome::kMissing;
    if (!row->name || row->name->version > version) co_return WriteOutcome::kSuperseded;
    std::vector<Mutation> mutations{erasure_of(catalog_key(name), row->row_version)};
    auto outcomes =
        CO_TRY(co_await tables_.mutate(std::string(kFileTable), directory_.name, std::move(mutations), fence));
    if (outcomes.front().kind != WriteOutcome::kApplied) continue;
    kFileUnrowed.reach();
    co_await remove_file(row->file);
    co_return WriteOutcome::kApplied;
  }
  co_return kept_changing(name);
}

Task<void> FileObjects::remove_file(std::string file) {
  std::ignore = co_await on(directory_.blocking, [tree = directory_.tree, file] { return tree->remove(file); });
}

Task<Result<std::optional<StoredObject>>> FileObjects::read(std::string name) {
  if (!directory_.tree) {
    co_return fail(ErrorCode::kJobInvalid, "This process may not read the directory '" + directory_.name + "'.");
  }
  std::string before;
  for (int race = 0; race < kRaces; ++race) {
    auto row = CO_TRY(co_await find(name));
    if (!row) co_return std::optional<StoredObject>();
    if (!row->name) co_return std::optional<StoredObject>({{}, {}, std::to_string(row->row_version)});
    // The file of a row that was replaced is gone; that of a current row must exist.
    if (row->file == before) break;
    before = row->file;
    auto bytes = CO_TRY(co_await on(directory_.blocking,
                                    [tree = directory_.tree, file = before] { return read_or_fetch(*tree, file); }));
    if (!bytes) continue;
    StoredObject object{std::move(*bytes), row->name->version, std::to_string(row->row_version)};
    co_return std::optional<StoredObject>(std::move(object));
  }
  co_return fail(ErrorCode::kCorruption, "The archived file '" + before + "' is missing.");
}

Task<Result<ObjectNames>> FileObjects::list(std::string prefix, std::string from) {
  // Names have no character between ' ' and '!' and no quote, so this is the range of names below a prefix "a/b/".
  auto first = catalog_key(std::max(prefix, from));
  auto end = catalog_key(prefix);
  if (!end.empty()) ++end.back();
  auto request =
      rows_of(directory_.name, "RowKey ge '" + first + "'" + (end.empty() ? "" : " and RowKey lt '" + end + "'"));
  request.table = std::string(kFileTable);
  ObjectNames out;
  do {
    auto page = co_await tables_.query(request);
    if (page.failed_with(ErrorCode::kTableNotFound)) co_return out;
    if (!page) co_return fail(std::move(page.error()));
    for (auto& entity : page->entities) out.names.push_back(name_of_row(std::move(entity.row_key)));
    request.continuation = std::move(page->continuation);
  } while (!request.continuation.empty() && out.names.size() < 2);
  if (!request.continuation.empty()) {
    out.next = std::move(out.names.back());
    out.names.pop_back();
  }
  co_return out;
}

}  // namespace tidemark::jobs
