// Objects as files of an allowed directory, with a catalog in a table. A file system has no fence: a worker that slept
// may rename a file long after others have taken its job over. So a file by itself means nothing; what makes it an
// object is its row in the catalog, written under the job's fence. Every file has a name of its own, made of the
// object's name, its version and (job, epoch): a late rename lands beside the file that counts, never on it, and its
// row is refused. Once the ledger says that (job, epoch) can write no row any more, a file that no row names is an
// orphan, and collect_files() removes it.
//   catalog  TidemarkFiles   PartitionKey: the directory's name   RowKey: the object's name, '/' as ' '
//            File (path below the directory), Version (Int64), Size (Int64), Type
//   file     PATH/STEM@VERSION-JOB-EPOCH.ENDING       temporary: .tidemark/JOB-EPOCH-SHA256 of the path, first 16
// Order of a put: file durable, row, then the file of the version before is removed. Blocking calls run on an executor
// of their own. Without a tree only the catalog is at hand: find() and list(); read() fails with kJobInvalid.
#pragma once
#include "common/base/async.h"
#include "jobs/objects/file_tree.h"
#include "jobs/objects/object_store.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr std::string_view kFileTable = "TidemarkFiles";

class FileObjects final : public ObjectStore {
 public:
  FileObjects(table_store::TableClient& tables, FileDirectory directory)
      : tables_(tables), directory_(std::move(directory)) {}
  Task<Result<void>> prepare() override;
  Task<Result<bool>> open(Fence fence) override;
  /// The rows are the table store's, whose ledger the job closes itself.
  Task<Result<void>> close(Fence) override { co_return Result<void>{}; }
  Task<Result<WriteOutcome>> put(ObjectWrite write, Fence fence) override;
  Task<Result<WriteOutcome>> erase(std::string name, std::int64_t version, Fence fence) override;
  Task<Result<std::optional<StoredObject>>> read(std::string name) override;
  Task<Result<ObjectNames>> list(std::string prefix, std::string from) override;

  struct Row {
    table_store::Version row_version = 0;
    std::string file;
    std::int64_t version = 0;
    std::string job;  // that wrote it
  };
  Task<Result<std::optional<Row>>> find(std::string name);

 private:
  /// Nothing: the row has changed since `old` was read.
  Task<Result<std::optional<WriteOutcome>>> commit(ObjectWrite write, std::string file, std::size_t size,
                                                   std::optional<Row> old, Fence fence);
  /// Orphans are collected: a file that cannot be removed now is no failure.
  Task<void> remove_file(std::string file);
  table_store::TableClient& tables_;
  FileDirectory directory_;
};

/// Removes the files, temporary ones too, of writers that can write no row any more and that no row names. Files that
/// do not have the form of an archived file are left alone. Returns how many went.
Task<Result<std::uint64_t>> collect_files(table_store::TableClient& tables, FileDirectory directory);

}  // namespace tidemark::jobs
