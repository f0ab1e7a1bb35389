#include "jobs/objects/file_collector.h"

#include <map>

#include "common/base/fail_points.h"
#include "jobs/objects/file_names.h"
#include "jobs/objects/file_objects.h"
#include "jobs/store/rows.h"

namespace tidemark::jobs {
namespace {

const FailPoint kQuarantined("file.quarantine", "after");

constexpr std::size_t kSlice = 1000;  // files
constexpr std::size_t kRowsAtOnce = 100;
constexpr std::size_t kMostWriters = 10'000;

/// One pass of the collector.
class Collection {
 public:
  Collection(table_store::TableClient& tables, FileDirectory directory, CollectionRules rules)
      : tables_(tables), directory_(std::move(directory)), rules_(rules) {}
  Task<Result<CollectedFiles>> run();

 private:
  using Found = FileTree::Found;
  using Files = std::vector<Found>;
  using Handle = Task<Result<void>> (Collection::*)(Files files);
  Task<Result<void>> walk(FileTree::Area area, Handle handle);
  Task<Result<void>> sweep_archive(Files files);
  Task<Result<void>> sweep_temporary(Files files);
  Task<Result<void>> sweep_quarantine(Files files);
  /// Tells whether the writer can write no more rows, as far as this table store knows.
  Task<Result<bool>> is_over(FileWriter writer);
  /// Tells for each of the files whether its row names it.
  Task<Result<std::vector<bool>>> named(const std::vector<std::string>& paths);
  [[nodiscard]] bool older_than(const Found& found, Duration age) const { return found.modified + age <= rules_.now; }
  template <class Call>
  auto blocking(Call call) {
    return on(directory_.blocking, [tree = directory_.tree, call = std::move(call)] { return call(*tree); });
  }

  table_store::TableClient& tables_;
  FileDirectory directory_;
  CollectionRules rules_;
  std::map<FileWriter, bool> over_;
  CollectedFiles out_;
};

Task<Result<CollectedFiles>> Collection::run() {
  FileOwner owner(tables_, directory_);
  if (CO_TRY(co_await owner.look()).whose != Ownership::kOurs) co_return out_;
  // Files in quarantine have waited for the rows of this pass too.
  CO_TRY(co_await walk(FileTree::Area::kQuarantine, &Collection::sweep_quarantine));
  CO_TRY(co_await walk(FileTree::Area::kArchive, &Collection::sweep_archive));
  CO_TRY(co_await walk(FileTree::Area::kTemporary, &Collection::sweep_temporary));
  co_return out_;
}

Task<Result<void>> Collection::walk(FileTree::Area area, Handle handle) {
  auto opened = CO_TRY(co_await blocking([area](const FileTree& tree) { return tree.walk(area); }));
  const std::shared_ptr<FileTree::Walk> files = std::move(opened);
  while (true) {
    auto slice = CO_TRY(co_await on(directory_.blocking, [files] { return files->next(kSlice); }));
    if (slice.empty()) co_return Result<void>{};
    CO_TRY(co_await (this->*handle)(std::move(slice)));
  }
}

Task<Result<bool>> Collection::is_over(FileWriter writer) {
  if (const auto known = over_.find(writer); known != over_.end()) co_return known->second;
  const auto ledger = CO_TRY(co_await tables_.read_operation(writer.job));
  const bool over = ledger.epoch > 0 && (ledger.closed || ledger.epoch > writer.epoch);
  if (over_.size() >= kMostWriters) over_.clear();
  over_.emplace(std::move(writer), over);
  co_return over;
}

Task<Result<std::vector<bool>>> Collection::named(const std::vector<std::string>& paths) {
  std::vector<bool> out;
  while (out.size() < paths.size()) {
    std::vector<std::string> keys;
    const auto begin = out.size();
    for (auto i = begin; i < paths.size() && keys.size() < kRowsAtOnce; ++i) {
      auto key = catalog_key(parse_file_path(paths[i])->object);
      // There are several files of one object: each of them is looked up with other files.
      if (std::ranges::find(keys, key) != keys.end()) break;
      keys.push_back(std::move(key));
    }
    auto rows = CO_TRY(co_await tables_.get_all(std::string(kFileTable), directory_.name, std::move(keys)));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& path = paths[begin + i];
      if (!rows[i]) {
        out.push_back(false);
        continue;
      }
      const auto row = FileObjects::row_from(*rows[i], parse_file_path(path)->object);
      // If no job wrote the row, it stands where the row of this file may have been.
      out.push_back(!row.name || row.file == path);
    }
  }
  co_return out;
}

Task<Result<void>> Collection::sweep_archive(Files files) {
  // Ledgers are read first: once a ledger says that a writer is over, that writer cannot add a row any more.
  std::vector<std::string> paths;
  for (auto& found : files) {
    const auto name = parse_file_path(found.path);
    if (!name || !older_than(found, rules_.grace)) continue;
    if (CO_TRY(co_await is_over(name->writer))) paths.push_back(std::move(found.path));
  }
  const auto rows = CO_TRY(co_await named(paths));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (rows[i]) continue;
    CO_TRY(co_await blocking(
        [path = paths[i], now = rules_.now](const FileTree& tree) { return tree.quarantine(path, now); }));
    kQuarantined.reach();
    ++out_.quarantined;
  }
  co_return Result<void>{};
}

Task<Result<void>> Collection::sweep_temporary(Files files) {
  for (auto& found : files) {
    auto writer = parse_temporary_name(found.path);
    if (!writer || !older_than(found, rules_.grace)) continue;
    if (!CO_TRY(co_await is_over(std::move(*writer)))) continue;
    CO_TRY(co_await blocking([path = found.path](const FileTree& tree) { return tree.remove_temporary(path); }));
    ++out_.removed;
  }
  co_return Result<void>{};
}

Task<Result<void>> Collection::sweep_quarantine(Files files) {
  std::erase_if(files, [](const Found& found) { return !parse_file_path(found.path); });
  std::vector<std::string> paths;
  for (const auto& found : files) paths.push_back(found.path);
  const auto rows = CO_TRY(co_await named(paths));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (rows[i]) {
      const bool back =
          CO_TRY(co_await blocking([path = paths[i]](const FileTree& tree) { return tree.put_back(path); }));
      if (back) ++out_.put_back;
    } else if (older_than(files[i], rules_.quarantine)) {
      CO_TRY(co_await blocking([path = paths[i]](const FileTree& tree) { return tree.remove_quarantined(path); }));
      ++out_.removed;
    }
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<CollectedFiles>> collect_files(table_store::TableClient& tables, FileDirectory directory,
                                           CollectionRules rules) {
  Collection collection(tables, std::move(directory), rules);
  co_return co_await collection.run();
}

}  // namespace tidemark::jobs
