// The names of archived files, which say everything that a row of the catalog says, so that the catalog can be made
// again from them:
//   file        PATH/STEM@VERSION-JOB-EPOCH.ENDING   of the object PATH/STEM.ENDING
//   temporary   JOB-EPOCH-HASH                       HASH: SHA-256 of the file's path, first 16
// A path that is not exactly what file_path() gives is no archived file, whoever claims it. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::jobs {

/// A delivery of a job, which writes files that no other one writes.
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
/// Nothing if file_path() never gives this path.
std::optional<FileName> parse_file_path(const std::string& path);
/// Whose temporary file it is; nothing if it is none.
std::optional<FileWriter> parse_temporary_name(std::string_view name);

}  // namespace tidemark::jobs
