// Objects as files of an allowed directory, with a catalog in a table. A file system has no fence: a worker that slept
// may rename a file long after others have taken over its job. So a file by itself means nothing; it becomes an object
// by its row in the catalog, written under the job's fence. Every file has a name of its own, made of the object's
// name, its version and (job, epoch): a late rename lands beside the valid file, never on it, and its row is refused.
// Once the ledger says that (job, epoch) can write no more rows, a file that no row names is an orphan, and the
// collector removes it (file_collector.h).
//   catalog  TidemarkFiles   PartitionKey: the directory's name   RowKey: the object's name, '/' as ' '
//            File (path below the directory: file_names.h), Version (Int64), Size (Int64), Type
// Any client of the table service can write such a row. A row that does not name a file of this object in this version
// counts as a foreign object: it is not read, not replaced and not removed. The directory must belong to this stack
// (file_owner.h): open() checks that, and the first put claims it if it has no owner. Order of a put: the file is made
// durable, the row is written, then the file of the version before is removed. Blocking calls run on an executor of
// their own. Without a tree only the catalog is available: find() and list(); read() fails with kJobInvalid.
#pragma once
#include "common/base/async.h"
#include "jobs/objects/file_names.h"
#include "jobs/objects/file_owner.h"
#include "jobs/objects/file_tree.h"
#include "jobs/objects/object_store.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxFileBytes = 256UL << 20;

/// Returns the RowKey of an object of this name.
std::string catalog_key(std::string name);

class FileObjects final : public ObjectStore {
 public:
  FileObjects(table_store::TableClient& tables, FileDirectory directory)
      : tables_(tables), directory_(std::move(directory)) {}
  Task<Result<void>> prepare() override;
  Task<Result<bool>> open(Fence fence) override;
  /// The rows belong to the table store, whose ledger the job closes itself.
  Task<Result<void>> close(Fence) override { co_return Result<void>{}; }
  Task<Result<WriteOutcome>> put(ObjectWrite write, Fence fence) override;
  Task<Result<WriteOutcome>> erase(std::string name, std::int64_t version, Fence fence) override;
  Task<Result<std::optional<StoredObject>>> read(std::string name) override;
  Task<Result<ObjectNames>> list(std::string prefix, std::string from) override;
  Task<Result<void>> require() override;

  struct Row {
    table_store::Version row_version = 0;
    std::string file = {};
    std::optional<FileName> name = {};  // of the file; absent if no job wrote the row
  };
  Task<Result<std::optional<Row>>> find(std::string name);
  static Row row_from(const table_store::Entity& entity, const std::string& object);
  /// Enters an existing file; kUnchanged if the object has a file of this version, kSuperseded if a newer one.
  Task<Result<WriteOutcome>> enter(FileName name, std::size_t size, std::string type, Fence fence);

 private:
  /// Returns nothing if the row has changed since `old` was read.
  Task<Result<std::optional<WriteOutcome>>> commit(ObjectWrite write, std::string file, std::size_t size,
                                                   std::optional<Row> old, Fence fence);
  Task<Result<void>> make_ours();
  [[nodiscard]] std::unexpected<Error> kept_changing(const std::string& name) const;
  /// A file that cannot be removed now is not an error: the collector removes orphans.
  Task<void> remove_file(std::string file);
  table_store::TableClient& tables_;
  FileDirectory directory_;
  FileOwner owner_{tables_, directory_};
  bool ours_ = false;
};

}  // namespace tidemark::jobs
