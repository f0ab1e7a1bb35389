#include "jobs/objects/file_names.h"

#include <algorithm>
#include <charconv>

#include "common/base/encoding.h"
#include "jobs/objects/file_tree.h"
#include "jobs/store/job_record.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kHashLength = 16;

std::string writer_text(const FileWriter& writer) { return writer.job + "-" + std::to_string(writer.epoch); }

template <class Number>
std::optional<Number> number_from(std::string_view digits) {
  Number number{};
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == digits.data() + digits.size();
  return whole ? std::optional(number) : std::nullopt;
}

std::optional<FileWriter> writer_from(std::string_view text) {
  const auto dash = text.rfind('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto epoch = number_from<std::uint64_t>(text.substr(dash + 1));
  FileWriter writer{std::string(text.substr(0, dash)), epoch.value_or(0)};
  if (!epoch || !is_job_id(writer.job)) return std::nullopt;
  return writer;
}

}  // namespace

std::string file_path(const FileName& name) {
  const auto slash = name.object.rfind('/') + 1;  // 0 if there is none
  const auto dot = std::min(name.object.find('.', slash), name.object.size());
  return name.object.substr(0, dot) + "@" + std::to_string(name.version) + "-" + writer_text(name.writer) +
         name.object.substr(dot);
}

std::string temporary_name(const FileName& name) {
  return writer_text(name.writer) + "-" + hex_encode(sha256(file_path(name))).substr(0, kHashLength);
}

std::optional<FileName> parse_file_path(const std::string& path) {
  const auto slash = path.rfind('/') + 1;
  const auto at = path.find('@', slash);
  if (at == std::string::npos) return std::nullopt;
  const auto dot = std::min(path.find('.', at), path.size());
  const auto version_end = path.find('-', at);
  if (version_end == std::string::npos || version_end > dot) return std::nullopt;
  const std::string_view text = path;
  const auto version = number_from<std::int64_t>(text.substr(at + 1, version_end - at - 1));
  auto writer = writer_from(text.substr(version_end + 1, dot - version_end - 1));
  if (!version || !writer) return std::nullopt;
  FileName name{path.substr(0, at) + path.substr(dot), *version, std::move(*writer)};
  if (!is_tree_path(path) || file_path(name) != path) return std::nullopt;
  return name;
}

std::optional<FileWriter> parse_temporary_name(std::string_view name) {
  const auto hash = name.rfind('-');
  return hash == std::string_view::npos ? std::nullopt : writer_from(name.substr(0, hash));
}

}  // namespace tidemark::jobs
