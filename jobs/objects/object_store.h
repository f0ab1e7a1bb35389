// Named objects that workers write under a fence: blobs of a container, or files of a directory. An object appears as a
// whole or not at all, is durable when put() returns, and has a version that decides which of two is newer. Through
// this interface, formats need not know the stores. Errors are those of the store behind it; writes of an earlier epoch
// or a closed operation fail with kFenced. Used from one strand.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "common/base/operation_ledger.h"
#include "jobs/kinds/archive/object_archive.h"
#include "jobs/objects/file_tree.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

using blob_store::WriteOutcome;

struct ObjectWrite {
  std::string name;
  std::string bytes;
  std::string type;  // media type
  std::int64_t version = 0;
  /// Replaces only exactly this version, otherwise kSuperseded. If absent, replaces any older version.
  std::optional<std::int64_t> replaces = {};
};

struct StoredObject {
  std::string bytes;
  std::optional<std::int64_t> version;  // absent if no job wrote it
  std::string revision;                 // of the content; differs after any change
};

struct ObjectNames {
  std::vector<std::string> names;  // sorted
  std::string next;                // `from` of the next page; empty: this was the last
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Creates the storage for the objects if it is missing.
  virtual Task<Result<void>> prepare() = 0;
  /// Refuses earlier epochs from now on. Returns true if the operation is already closed, because its work is done.
  virtual Task<Result<bool>> open(Fence fence) = 0;
  virtual Task<Result<void>> close(Fence fence) = 0;
  virtual Task<Result<WriteOutcome>> put(ObjectWrite write, Fence fence) = 0;
  /// Erases this version or an older one.
  virtual Task<Result<WriteOutcome>> erase(std::string name, std::int64_t version, Fence fence) = 0;
  /// Returns nothing if there is no such object, or if the archive does not exist.
  virtual Task<Result<std::optional<StoredObject>>> read(std::string name) = 0;
  /// Lists the names that begin with `prefix`, from `from` on.
  virtual Task<Result<ObjectNames>> list(std::string prefix, std::string from) = 0;
  /// For readers of an archive that should exist: kContainerNotFound, kJobInvalid.
  virtual Task<Result<void>> require() = 0;
};

/// The places that a process can reach outside of the tables of the jobs' account: containers of the blob store, and
/// directories and accounts that its operator allows. Used from one strand.
struct ObjectAccess {
  blob_store::BlobClient* blobs = nullptr;  // null if the process reaches no containers; must outlive all use
  std::vector<FileDirectory> directories = {};
  std::vector<std::string> accounts = {};
};

/// Returns null if this process may not use the directory.
const FileDirectory* find_directory(const ObjectAccess& access, std::string_view name);
std::unexpected<Error> no_directory(const std::string& name);
/// `account`: that of a container; empty: that of the jobs. kJobInvalid if this process cannot reach the archive.
Result<std::unique_ptr<ObjectStore>> open_archive(const ObjectAccess& access, table_store::TableClient& tables,
                                                  const ObjectArchive& archive, const std::string& account = {});

}  // namespace tidemark::jobs
