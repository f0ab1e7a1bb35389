#include "jobs/objects/file_objects.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "jobs/store/job_record.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;

const FailPoint kFileRenamed("file.rename", "after");
const FailStep kFileRow("file.row");
const FailPoint kFileUnrowed("file.erase", "after");

constexpr int kRaces = 20;
constexpr std::size_t kMaxFileBytes = 256UL << 20;
constexpr std::size_t kMostCollected = 1'000'000;
constexpr std::size_t kHashLength = 16;

std::string row_key_of(std::string name) {
  std::replace(name.begin(), name.end(), '/', ' ');
  return name;
}
std::string name_of_row(std::string row_key) {
  std::replace(row_key.begin(), row_key.end(), ' ', '/');
  return row_key;
}

std::string writer_text(const Fence& fence) { return fence.operation_id + "-" + std::to_string(fence.epoch); }

std::string file_of(const ObjectWrite& write, const Fence& fence) {
  const auto slash = write.name.rfind('/') + 1;  // 0 without one
  const auto dot = std::min(write.name.find('.', slash), write.name.size());
  return write.name.substr(0, dot) + "@" + std::to_string(write.version) + "-" + writer_text(fence) +
         write.name.substr(dot);
}

/// Who wrote a file, from its name.
struct Writer {
  std::string job;
  std::uint64_t epoch = 0;
};

std::optional<Writer> writer_from(std::string_view text) {
  const auto dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  Writer writer;
  writer.job = std::string(text.substr(0, dash));
  const auto digits = text.substr(dash + 1);
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), writer.epoch);
  if (read.ec != std::errc() || read.ptr != digits.data() + digits.size() || !is_job_id(writer.job)) {
    return std::nullopt;
  }
  return writer;
}

std::optional<Writer> writer_of(const FileTree::Found& found) {
  const std::string_view path = found.path;
  if (found.temporary) {
    const auto hash = path.rfind('-');
    return hash == std::string_view::npos ? std::nullopt : writer_from(path.substr(0, hash));
  }
  const auto slash = path.rfind('/') + 1;
  const auto at = path.find('@', slash);
  if (at == std::string_view::npos) return std::nullopt;
  const auto dot = std::min(path.find('.', at), path.size());
  const auto version_end = path.find('-', at);
  if (version_end == std::string_view::npos || version_end > dot) return std::nullopt;
  return writer_from(path.substr(version_end + 1, dot - version_end - 1));
}

using FilesByPath = std::map<std::string, FileTree::Found>;

/// Those whose writers can write no row any more.
Task<Result<FilesByPath>> files_of_the_gone(table_store::TableClient& tables, std::vector<FileTree::Found> files) {
  FilesByPath out;
  std::map<std::pair<std::string, std::uint64_t>, bool> known;
  for (auto& found : files) {
    const auto writer = writer_of(found);
    if (!writer) continue;
    auto over = known.find({writer->job, writer->epoch});
    if (over == known.end()) {
      auto ledger = CO_TRY(co_await tables.read_operation(writer->job));
      // A ledger is made before the first file and forgotten long after the job has ended.
      const bool gone = ledger.closed || ledger.epoch > writer->epoch || ledger.epoch == 0;
      over = known.emplace(std::pair(writer->job, writer->epoch), gone).first;
    }
    auto path = found.path;
    if (over->second) out.emplace(std::move(path), std::move(found));
  }
  co_return out;
}

/// Takes those out that a row of the catalog names.
Task<Result<void>> spare_named(table_store::TableClient& tables, std::string directory, FilesByPath& files) {
  auto request = rows_of(directory);
  request.table = std::string(kFileTable);
  do {
    auto page = co_await tables.query(request);
    if (page.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};
    if (!page) co_return fail(std::move(page.error()));
    for (const auto& entity : page->entities) {
      if (const auto* path = property<std::string>(entity, "File")) files.erase(*path);
    }
    request.continuation = std::move(page->continuation);
  } while (!request.continuation.empty());
  co_return Result<void>{};
}

/// Runs a blocking call, which owns what it works on, on the executor that is for them.
template <class Call>
Task<std::invoke_result_t<Call&>> on(Executor executor, Call call) {
  auto body = [](Call inner) -> Task<std::invoke_result_t<Call&>> { co_return inner(); };
  co_return co_await asio::co_spawn(executor, body(std::move(call)), asio::use_awaitable);
}

}  // namespace

Task<Result<void>> FileObjects::prepare() { return ensure_table(tables_, std::string(kFileTable)); }

Task<Result<bool>> FileObjects::open(Fence fence) {
  // Even at the first delivery: before the first file is there, the ledger must know of its writer, or the collector
  // would take it for one that is gone.
  CO_TRY(co_await tables_.open_operation(std::move(fence.operation_id), fence.epoch, fence.since));
  co_return false;
}

Task<Result<std::optional<FileObjects::Row>>> FileObjects::find(std::string name) {
  auto entity = co_await tables_.get(std::string(kFileTable), directory_.name, row_key_of(std::move(name)));
  if (entity.failed_with(ErrorCode::kTableNotFound)) co_return std::optional<Row>();
  if (!entity) co_return fail(std::move(entity.error()));
  if (!entity->has_value()) co_return std::optional<Row>();
  const auto* file = property<std::string>(**entity, "File");
  const auto* version = property<std::int64_t>(**entity, "Version");
  if (file == nullptr || version == nullptr) {
    co_return fail(ErrorCode::kCorruption, "A row of " + std::string(kFileTable) + " is broken.");
  }
  Row row{(*entity)->version, *file, *version, {}};
  if (auto writer = writer_of({row.file, false})) row.job = std::move(writer->job);
  co_return std::optional<Row>(std::move(row));
}

Task<Result<WriteOutcome>> FileObjects::put(ObjectWrite write, Fence fence) {
  const auto file = file_of(write, fence);
  const auto temporary = writer_text(fence) + "-" + hex_encode(sha256(file)).substr(0, kHashLength);
  const auto size = write.bytes.size();
  CO_TRY(co_await on(directory_.blocking,
                     [tree = directory_.tree, file, temporary, bytes = std::exchange(write.bytes, {})] {
                       return tree->write(file, temporary, bytes);
                     }));
  kFileRenamed.reach();
  for (int race = 0; race < kRaces; ++race) {
    auto old = CO_TRY(co_await find(write.name));
    auto superseded_file = old ? old->file : std::string();
    auto outcome = CO_TRY(co_await commit(write, file, size, old, fence));
    if (!outcome) continue;
    const auto useless = *outcome == WriteOutcome::kApplied ? superseded_file : file;
    const bool named = *outcome != WriteOutcome::kApplied && superseded_file == file;
    if (!useless.empty() && !named) {
      co_await remove_file(useless);
    }
    co_return *outcome;
  }
  co_return fail(ErrorCode::kConditionNotMet, "The file '" + write.name + "' kept changing.");
}

Task<Result<std::optional<WriteOutcome>>> FileObjects::commit(ObjectWrite write, std::string file, std::size_t size,
                                                              std::optional<Row> old, Fence fence) {
  if (old && old->version == write.version) co_return WriteOutcome::kUnchanged;
  const bool may = write.replaces ? old && old->version == *write.replaces : !old || old->version < write.version;
  if (!may) co_return WriteOutcome::kSuperseded;
  const auto seen = old ? std::optional(old->row_version) : std::nullopt;
  std::vector<table_store::Property> properties{{"File", std::move(file)},
                                                {"Version", write.version},
                                                {"Size", static_cast<std::int64_t>(size)},
                                                {"Type", std::move(write.type)}};
  std::vector<Mutation> mutations{write_of(row_key_of(std::move(write.name)), seen, std::move(properties))};
  auto outcomes = co_await kFileRow.around(
      tables_.mutate(std::string(kFileTable), directory_.name, std::move(mutations), std::move(fence)));
  if (outcomes.failed_with(ErrorCode::kTableNotFound)) {
    CO_TRY(co_await prepare());
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
    if (row->version > version) co_return WriteOutcome::kSuperseded;
    std::vector<Mutation> mutations{erasure_of(row_key_of(name), row->row_version)};
    auto outcomes =
        CO_TRY(co_await tables_.mutate(std::string(kFileTable), directory_.name, std::move(mutations), fence));
    if (outcomes.front().kind != WriteOutcome::kApplied) continue;
    kFileUnrowed.reach();
    co_await remove_file(row->file);
    co_return WriteOutcome::kApplied;
  }
  co_return fail(ErrorCode::kConditionNotMet, "The file '" + name + "' kept changing.");
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
    // The file of a row that was replaced is gone; that of a row that stands must be there.
    if (row->file == before) break;
    before = row->file;
    auto bytes = CO_TRY(co_await on(
        directory_.blocking, [tree = directory_.tree, file = before] { return tree->read(file, kMaxFileBytes); }));
    if (!bytes) continue;
    StoredObject object{std::move(*bytes), row->version, std::to_string(row->row_version)};
    co_return std::optional<StoredObject>(std::move(object));
  }
  co_return fail(ErrorCode::kCorruption, "The archived file '" + before + "' is missing.");
}

Task<Result<ObjectNames>> FileObjects::list(std::string prefix, std::string from) {
  // Names hold nothing between ' ' and '!' and no quote, so this is the range of the names below a prefix "a/b/".
  auto first = row_key_of(std::max(prefix, from));
  auto end = row_key_of(prefix);
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

Task<Result<std::uint64_t>> collect_files(table_store::TableClient& tables, FileDirectory directory) {
  auto files = CO_TRY(co_await on(directory.blocking, [tree = directory.tree] { return tree->walk(kMostCollected); }));
  // The ledgers first: once one says that a writer is over, no row of its can come any more.
  auto orphans = CO_TRY(co_await files_of_the_gone(tables, std::move(files)));
  CO_TRY(co_await spare_named(tables, directory.name, orphans));
  std::uint64_t removed = 0;
  for (const auto& [path, found] : orphans) {
    CO_TRY(co_await on(directory.blocking, [tree = directory.tree, orphan = found] {
      return orphan.temporary ? tree->remove_temporary(orphan.path) : tree->remove(orphan.path);
    }));
    ++removed;
  }
  co_return removed;
}

}  // namespace tidemark::jobs
