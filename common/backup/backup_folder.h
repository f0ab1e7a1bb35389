// A directory of backups: DIRECTORY/tidemark-20261123T054500.123Z for each. While a backup is being made, its name is
// ".NAME.ID.unfinished", so a directory with the name of a backup is complete and durable. The random ID shows a store
// that it sees the same directory as the process that made it. All calls block.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "common/backup/manifest.h"
#include "common/base/descriptor.h"

namespace tidemark::backup {

struct StoredBackup {
  std::string name;
  Manifest manifest;
  std::string trouble;  // why the manifest cannot be read; empty if it can
};

/// Returns all backups, the oldest first. kNotFound if there is no such directory.
Result<std::vector<StoredBackup>> list_backups(const std::filesystem::path& directory);

/// A backup that is being made. The destructor removes it unless it is finished.
class NewBackup {
 public:
  /// Makes the directory if it is missing. kServerBusy while another backup is being made in it.
  static Result<NewBackup> begin(const std::filesystem::path& directory, Time now);
  NewBackup() = default;  // no backup
  NewBackup(NewBackup&&) = default;
  NewBackup& operator=(NewBackup&&) = delete;
  ~NewBackup();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::filesystem::path& path() const { return unfinished_; }
  /// Returns the newest complete backup of this owner; empty if there is none.
  [[nodiscard]] std::filesystem::path previous(const std::string& owner) const;
  /// Completes the backup, whose files must be durable. kStorageFailure: a file that a part names is missing.
  /// kNotFound: the list of a part is missing.
  Result<void> finish(const Manifest& manifest);
  /// Keeps this backup and the newest others of this owner, `keep` in all, and removes the rest. Unreadable ones stay.
  Result<std::size_t> remove_older(std::size_t keep, const std::string& owner) const;

 private:
  NewBackup(std::filesystem::path directory, std::string name, Descriptor lock);
  std::filesystem::path directory_;
  std::string name_;
  std::filesystem::path unfinished_;
  Descriptor lock_;
};

}  // namespace tidemark::backup
