#include "common/backup/file_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "common/backup/durable_file.h"
#include "common/base/encoding.h"
#include "common/base/numbers.h"

namespace tidemark::backup {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSumChars = 64;
constexpr std::size_t kMaxListBytes = 4UL << 30;

std::unexpected<Error> damaged(std::size_t line) {
  return fail(ErrorCode::kCorruption, fmt::format("The list of files is damaged in line {}.", line));
}

std::string_view take_word(std::string_view& line) {
  const auto end = std::min(line.find(' '), line.size());
  const auto word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

/// Tells whether the path is relative and each of its steps goes down.
bool is_below(std::string_view path) {
  const fs::path given(path);
  return !path.empty() && given.is_relative() && path.find('\0') == std::string_view::npos &&
         std::ranges::none_of(given, [](const fs::path& step) { return step.empty() || step == ".." || step == "."; });
}

}  // namespace

std::string encode_list(const FileList& files) {
  std::string text;
  for (const auto& [path, file] : files) {
    text += fmt::format("{} {} {} {}\n", file.sha256, file.size, file.modified_ns, path);
  }
  return text;
}

Result<FileList> decode_list(std::string_view text) {
  FileList files;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos) return damaged(number);
    auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    ListedFile file;
    file.sha256 = take_word(line);
    const auto size = parse_number<std::uint64_t>(take_word(line), 0, std::numeric_limits<std::uint64_t>::max());
    const auto modified = parse_number<std::int64_t>(take_word(line), std::numeric_limits<std::int64_t>::min(),
                                                     std::numeric_limits<std::int64_t>::max());
    if (file.sha256.size() != kSumChars || !size || !modified || !is_below(line)) return damaged(number);
    file.size = *size;
    file.modified_ns = *modified;
    files.emplace(line, std::move(file));
  }
  return files;
}

fs::path list_path(const fs::path& backup, const std::string& part) { return backup / (part + ".files"); }

Result<FileList> read_list(const fs::path& backup, const std::string& part, const std::string& sha256) {
  const auto path = list_path(backup, part);
  const auto text = TRY(read_file(path, kMaxListBytes));
  if (!sha256.empty() && hex_encode(tidemark::sha256(text)) != sha256) {
    return fail(ErrorCode::kCorruption, path.string() + " is damaged: it is not the list that the manifest names.");
  }
  return decode_list(text);
}

}  // namespace tidemark::backup
