// Named objects that workers write under a fence: blobs of a container, or files of a directory. An object appears
// whole or not at all, is durable when put() returns, and carries a version that decides which of two is newer. One
// interface, so that formats know nothing of stores. Errors are those of the store behind it; kFenced from any write of
// an earlier epoch or a closed operation. Used from one strand.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "common/base/operation_ledger.h"

namespace tidemark::jobs {

using blob_store::WriteOutcome;

struct ObjectWrite {
  std::string name;
  std::string bytes;
  std::string type;  // media type
  std::int64_t version = 0;
  /// Only in place of exactly this version; otherwise kSuperseded. Absent: in place of any older one.
  std::optional<std::int64_t> replaces = {};
};

struct StoredObject {
  std::string bytes;
  std::optional<std::int64_t> version;  // absent: somebody else put it there
  std::string revision;                 // of the content: differs after any change
};

struct ObjectNames {
  std::vector<std::string> names;  // in order
  std::string next;                // `from` of the next page; empty: this was the last
};

class ObjectStore {
 public:
  virtual ~ObjectStore() = default;
  /// Creates what holds the objects, if it is missing.
  virtual Task<Result<void>> prepare() = 0;
  /// From here on earlier epochs are refused. True: the operation is closed here already, its work is done.
  virtual Task<Result<bool>> open(Fence fence) = 0;
  virtual Task<Result<void>> close(Fence fence) = 0;
  virtual Task<Result<WriteOutcome>> put(ObjectWrite write, Fence fence) = 0;
  /// Erases this version or an older one.
  virtual Task<Result<WriteOutcome>> erase(std::string name, std::int64_t version, Fence fence) = 0;
  /// Nothing if there is no such object, or nothing at all.
  virtual Task<Result<std::optional<StoredObject>>> read(std::string name) = 0;
  /// Names that begin with `prefix`, from `from` on.
  virtual Task<Result<ObjectNames>> list(std::string prefix, std::string from) = 0;
};

}  // namespace tidemark::jobs
