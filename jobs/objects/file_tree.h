// Files below a directory that the operator allows. Every segment of a path is opened relative to the one before and
// never through a symbolic link, and no segment may begin with a dot, so a name never leads out of the directory. Files
// appear whole and durable: they get a temporary name, fsync, rename, and fsync of the directories. Blocking; thread
// safe. kStorageFailure if the system refuses, kInvalidInput if the path is not valid. Other files than archived ones
// lie in a directory of their own:
//   .tidemark/            temporary files
//   .tidemark/owner.json  the stamp, which names the directory's owner (file_owner.h)
//   .tidemark/quarantine/ files that will be removed, under their paths (file_collector.h)
#pragma once
#include <dirent.h>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/descriptor.h"
#include "common/base/error.h"
#include "common/base/mutex.h"
#include "common/base/time.h"

namespace tidemark::jobs {

class FileTree {
 public:
  /// The directory must exist. kConfigInvalid.
  static Result<std::shared_ptr<FileTree>> open(const std::string& path);
  FileTree(const FileTree&) = delete;
  FileTree& operator=(const FileTree&) = delete;

  /// `temporary` is the file's name until it is complete; only one writer at a time may use it.
  Result<void> write(const std::string& path, const std::string& temporary, const std::string& bytes) const;
  /// Returns nothing if there is no such file.
  Result<std::optional<std::string>> read(const std::string& path, std::size_t limit) const;
  Result<bool> has(const std::string& path) const;
  /// Succeeds if there is no such file. Directories that become empty stay.
  Result<void> remove(const std::string& path) const;

  struct Found {
    std::string path;
    Time modified;
  };
  enum class Area : std::uint8_t { kArchive, kTemporary, kQuarantine };
  class Walk;
  /// Walks through all files of an area, in any order, while other processes may change it.
  Result<std::unique_ptr<Walk>> walk(Area area) const;
  Result<void> remove_temporary(const std::string& temporary) const;

  /// Moves the file into quarantine. `now` becomes the time of its last change.
  Result<void> quarantine(const std::string& path, Time now) const;
  /// Returns true if the file was in quarantine; it is then back at its place.
  Result<bool> put_back(const std::string& path) const;
  Result<void> remove_quarantined(const std::string& path) const;

  /// Returns nothing if there is no stamp.
  Result<std::optional<std::string>> read_stamp() const;
  enum class Stamping : std::uint8_t { kIfNone, kReplace };
  /// Returns false if there is a stamp that may not be replaced. `random` is part of the temporary name.
  Result<bool> write_stamp(const std::string& bytes, Stamping how, const std::string& random) const;

 private:
  explicit FileTree(int root) : root_(root) {}
  Result<Descriptor> own_directory() const;
  Result<Descriptor> quarantine_directory() const;
  /// Makes a directory whose name is on disk.
  Result<void> make_directory(int parent, const std::string& name, std::string_view path) const;
  Descriptor root_;
  /// Directories whose names are on disk. The mere existence of a directory is not enough: another writer may have made
  /// it and not synced it yet.
  mutable Mutex mutex_;
  mutable std::set<std::string, std::less<>> durable_ GUARDED_BY(mutex_);
};

/// Visits the files one after the other; not thread safe.
class FileTree::Walk {
 public:
  /// Returns up to `most` more files; none at the end.
  Result<std::vector<Found>> next(std::size_t most);

 private:
  friend class FileTree;
  struct Level {
    std::unique_ptr<DIR, int (*)(DIR*)> listing;
    std::string prefix;
  };
  explicit Walk(std::size_t depth) : depth_(depth) {}
  Result<void> enter(Descriptor directory, std::string prefix);
  Result<void> look_at(const std::string& name, std::vector<Found>& out);
  std::size_t depth_;
  std::vector<Level> levels_;
};

/// A directory that jobs may name, and the executor of its blocking calls.
struct FileDirectory {
  std::string name;
  std::shared_ptr<const FileTree> tree;
  Executor blocking;
};
/// Opens the directories of a setting, "name=path,name=path". kConfigInvalid.
Result<std::vector<FileDirectory>> open_directories(const std::string& setting, const Executor& blocking);

/// Checks for segments of letters, digits and "-_%~@." that do not begin with a dot, joined by '/'.
bool is_tree_path(const std::string& path);

}  // namespace tidemark::jobs
