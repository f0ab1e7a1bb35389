// Writes one part of a backup: the files of one store. What never changes becomes a hard link, of the store's own file
// or, on another file system, of the one in the backup before; anything else is copied. One thread.
#pragma once
#include <filesystem>
#include <set>
#include <string>

#include "common/backup/file_list.h"
#include "common/backup/manifest.h"

namespace tidemark::backup {

class PartWriter {
 public:
  /// `unfinished`: the directory of the backup that is being made, which is there: kStorageFailure if this process does
  /// not see it. `previous`: a complete one, or empty.
  static Result<PartWriter> create(const std::filesystem::path& unfinished, std::string part,
                                   const std::filesystem::path& previous);
  /// A file that nobody changes any more. kNotFound if it is not there.
  Result<void> add(const std::filesystem::path& source, const std::string& path);
  /// All of it is durable, and so is the list.
  Result<Part> finish();
  [[nodiscard]] const Part& so_far() const { return part_; }

 private:
  PartWriter(std::filesystem::path unfinished, std::string part);
  Result<std::string> keep(const std::filesystem::path& source, const std::filesystem::path& target);

  std::filesystem::path unfinished_, folder_, previous_folder_;
  Part part_;
  FileList files_, previous_;
  std::set<std::filesystem::path> folders_;  // to sync
};

}  // namespace tidemark::backup
