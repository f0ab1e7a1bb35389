// Writes one part of a backup: the files of one store. A file that never changes becomes a hard link, either to the
// store's own file or, on another file system, to the one in the previous backup; other files are copied. One thread.
#pragma once
#include <filesystem>
#include <set>
#include <string>

#include "common/backup/file_list.h"
#include "common/backup/manifest.h"

namespace tidemark::backup {

class PartWriter {
 public:
  /// `unfinished`: the existing directory of the backup that is being made; kStorageFailure if this process does not
  /// see it. `previous`: a complete backup, or empty.
  static Result<PartWriter> create(const std::filesystem::path& unfinished, std::string part,
                                   const std::filesystem::path& previous);
  /// Adds a file that never changes any more. kNotFound if it does not exist.
  Result<void> add(const std::filesystem::path& source, const std::string& path);
  /// Makes all files and the list durable.
  Result<Part> finish();
  [[nodiscard]] const Part& so_far() const { return part_; }

 private:
  PartWriter(std::filesystem::path unfinished, std::string part);
  Result<std::string> keep(const std::filesystem::path& source, const std::filesystem::path& target);

  std::filesystem::path unfinished_, folder_, previous_folder_;
  Part part_;
  FileList files_, previous_;
  std::set<std::filesystem::path> folders_;  // to be synced
};

}  // namespace tidemark::backup
