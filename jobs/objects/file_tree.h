// Files below a directory that the operator allows. Every segment of a path is opened relative to the one before and
// never through a symbolic link, and no segment may begin with a dot, so a name never leads out of the directory. Files
// appear whole and durable: they get a temporary name, fsync, rename, and fsync of the directories. Blocking; thread
// safe. kStorageFailure if the system refuses, kInvalidInput if the path is not valid.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/base/mutex.h"

namespace tidemark::jobs {

class FileTree {
 public:
  /// The directory must exist. kConfigInvalid.
  static Result<std::shared_ptr<FileTree>> open(const std::string& path);
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// `temporary` is the file's name until it is complete; only one writer at a time may use it.
  Result<void> write(const std::string& path, const std::string& temporary, const std::string& bytes) const;
  /// Nothing if there is no such file.
  Result<std::optional<std::string>> read(const std::string& path, std::size_t limit) const;
  /// Succeeds if there is no such file. Directories that become empty stay.
  Result<void> remove(const std::string& path) const;

  struct Found {
    std::string path;
    bool temporary = false;
  };
  /// Up to `most` files in any order, including temporary ones.
  Result<std::vector<Found>> walk(std::size_t most) const;
  Result<void> remove_temporary(const std::string& temporary) const;

 private:
  explicit FileTree(int root) : root_(root) {}
  /// Makes a directory whose name is on disk.
  Result<void> make_directory(int parent, const std::string& name, std::string_view path) const;
  Descriptor root_;
  /// Directories whose names are on disk. One that is there may be another writer's that has not synced it yet, so
  /// being there is not enough.
  mutable Mutex mutex_;
  mutable std::set<std::string, std::less<>> durable_ GUARDED_BY(mutex_);
};

/// A directory that jobs may name, and the executor of its blocking calls.
struct FileDirectory {
  std::string name;
  std::shared_ptr<const FileTree> tree;
  Executor blocking;
};
/// Opens the directories of a setting, "name=path,name=path". kConfigInvalid.
Result<std::vector<FileDirectory>> open_directories(const std::string& setting, const Executor& blocking);

/// Segments of letters, digits and "-_%~@." that do not begin with a dot, joined by '/'.
bool is_tree_path(const std::string& path);

}  // namespace tidemark::jobs
