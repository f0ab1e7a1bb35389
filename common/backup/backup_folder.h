// A directory with backups: DIRECTORY/tidemark-20261123T054500.123Z for each. One that is being made has a name of its
// own, ".NAME.ID.unfinished", until it is whole and durable, so what has a backup's name is complete. The random ID
// tells a store that it sees the same directory as whoever made it. All calls block.
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
  std::string trouble;  // why the manifest cannot be read; empty: it can
};

/// All backups, the oldest first. kNotFound if there is no such directory.
Result<std::vector<StoredBackup>> list_backups(const std::filesystem::path& directory);

/// One that is being made. Unless it is finished, the destructor removes it.
class NewBackup {
 public:
  /// Makes the directory if it is not there. kServerBusy while another backup is made in it.
  static Result<NewBackup> begin(const std::filesystem::path& directory, Time now);
  NewBackup() = default;  // none
  NewBackup(NewBackup&&) = default;
  NewBackup& operator=(NewBackup&&) = delete;
  ~NewBackup();

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::filesystem::path& path() const { return unfinished_; }
  /// The newest complete one of this owner; empty if there is none.
  [[nodiscard]] std::filesystem::path previous(const std::string& owner) const;
  /// Its files are durable; from then on it is complete. kStorageFailure, kNotFound: what a part names is not there.
  Result<void> finish(const Manifest& manifest);
  /// Removes all but this one and the newest others, `keep` in all, of this owner. Those that cannot be read stay.
  Result<std::size_t> remove_older(std::size_t keep, const std::string& owner) const;

 private:
  NewBackup(std::filesystem::path directory, std::string name, Descriptor lock);
  std::filesystem::path directory_;
  std::string name_;
  std::filesystem::path unfinished_;
  Descriptor lock_;
};

}  // namespace tidemark::backup
