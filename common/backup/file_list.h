// The files of one part of a backup, as a text with a line for each:
//
//   SHA256 SIZE MTIME PATH
//
// in hex, bytes and nanoseconds since 1970; the path is relative to the part's folder. Size and time are those of the
// file that was copied, so that the next backup sees which files are still the same. Pure but for read_list().
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace tidemark::backup {

struct ListedFile {
  std::string sha256;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0;
};

/// The files by their paths.
using FileList = std::map<std::string, ListedFile, std::less<>>;

std::string encode_list(const FileList& files);
/// kCorruption for any other kind of line, and for a path that leads out of the folder.
Result<FileList> decode_list(std::string_view text);
/// Reads the list of a part of a backup. If `sha256` is given, the list must have it. kCorruption.
Result<FileList> read_list(const std::filesystem::path& backup, const std::string& part,
                           const std::string& sha256 = {});
std::filesystem::path list_path(const std::filesystem::path& backup, const std::string& part);

}  // namespace tidemark::backup
