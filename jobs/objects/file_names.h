// The names of archived files, which contain everything that a row of the catalog contains, so that the catalog can be
// rebuilt from them:
//   file        PATH/STEM@VERSION-JOB-EPOCH.ENDING   of the object PATH/STEM.ENDING
//   temporary   JOB-EPOCH-HASH                       HASH: SHA-256 of the file's path, first 16
// A path that is not exactly the result of file_path() is not an archived file, even if a row names it. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::jobs {

/// A delivery of a job. No other delivery writes its files.
struct FileWriter {
  std::string job;
  std::uint64_t epoch = 0;
  bool operator==(const FileWriter&) const = default;
  auto operator<=>(const FileWriter&) const = default;
};

struct FileName {
  std::string object;
  std::int64_t version = 0;
  FileWriter writer;
  bool operator==(const FileName&) const = default;
};

std::string file_path(const FileName& name);
std::string temporary_name(const FileName& name);
/// Returns nothing if file_path() never returns this path.
std::optional<FileName> parse_file_path(const std::string& path);
/// Returns the writer of a temporary file; nothing if the name is not that of one.
std::optional<FileWriter> parse_temporary_name(std::string_view name);

}  // namespace tidemark::jobs
