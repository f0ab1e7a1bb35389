#include "jobs/kinds/archive/object_names.h"

#include <boost/algorithm/string/replace.hpp>
#include <cstdio>

#include "common/base/encoding.h"
#include "jobs/kinds/archive/archive_text.h"

namespace tidemark::jobs {
namespace {

constexpr std::string_view kDocument = ".json";
constexpr std::string_view kPart = ".jsonl";
constexpr std::string_view kZippedPart = ".jsonl.gz";
constexpr std::size_t kHashLength = 64;

}  // namespace

std::string key_segment(std::string_view key) {
  if (key.empty()) return "~";
  auto out = percent_encode(key);
  boost::replace_all(out, ".", "%2E");
  boost::replace_all(out, "~", "%7E");
  if (out.size() <= kMaxKeySegment) return out;
  out.resize(kMaxKeySegment - kHashLength - 1);
  // Cut only between escapes.
  if (const auto last = out.rfind('%'); last != std::string::npos && last + 3 > out.size()) out.resize(last);
  return out + "~" + hex_encode(sha256(key));
}

std::string archive_root(const ObjectArchive& archive) { return archive.prefix + to_lower_ascii(archive.table) + "/"; }

bool is_object_name(const ObjectArchive& archive, std::string_view name) {
  const bool fits = archive.format == ArchiveFormat::kLines ? is_part_name(name) : is_document_name(name);
  return fits && root_of_object(name) == archive_root(archive);
}

std::string_view root_of_object(std::string_view name) {
  const auto last = name.rfind('/');
  if (last == std::string_view::npos || last == 0) return {};
  const auto before = name.rfind('/', last - 1);
  return before == std::string_view::npos ? std::string_view() : name.substr(0, before + 1);
}

std::optional<ObjectArchive> archive_of_object(std::string_view name) {
  auto root = root_of_object(name);
  if (root.empty()) return std::nullopt;
  root.remove_suffix(1);
  const auto table = root.rfind('/') + 1;  // 0 if there is none
  ObjectArchive archive;
  archive.prefix = root.substr(0, table);
  archive.table = root.substr(table);
  if (is_part_name(name)) archive.format = ArchiveFormat::kLines;
  if (!is_object_prefix(archive.prefix) || !is_object_name(archive, name)) return std::nullopt;
  return archive;
}

std::string_view type_of_object(std::string_view name) {
  if (name.ends_with(kZippedPart)) return kGzipType;
  return is_part_name(name) ? kLinesType : kDocumentType;
}

std::string document_name(const ObjectArchive& archive, std::string_view partition_key, std::string_view row_key) {
  auto name = archive_root(archive) + key_segment(partition_key) + "/" + key_segment(row_key);
  return name.append(kDocument);
}

bool is_document_name(std::string_view name) { return name.ends_with(kDocument); }

std::string part_group(const ObjectArchive& archive, std::string_view partition_key, std::int64_t version) {
  if (archive.per == PartUnit::kPartition) return key_segment(partition_key);
  // 2026-11-21T19:30:04.1234567Z
  const std::size_t length = archive.per == PartUnit::kHour ? 13 : archive.per == PartUnit::kDay ? 10 : 7;
  return to_iso8601_7digits(Time(Duration(version))).substr(0, length);
}

std::string part_name(const ObjectArchive& archive, std::string_view group, std::string_view job, std::uint64_t epoch,
                      std::uint64_t number) {
  char place[48];
  const auto length = std::snprintf(place, sizeof place, "-%04llu-%06llu", static_cast<unsigned long long>(epoch),
                                    static_cast<unsigned long long>(number));
  auto name = archive_root(archive).append(group).append("/").append(job);
  name.append(place, static_cast<std::size_t>(length));
  return name.append(archive.gzip ? kZippedPart : kPart);
}

bool is_part_name(std::string_view name) { return name.ends_with(kPart) || name.ends_with(kZippedPart); }

}  // namespace tidemark::jobs
