#include "jobs/kinds/archive/object_names.h"

#include <boost/algorithm/string/replace.hpp>
#include <cstdio>

#include "common/base/encoding.h"

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
  // Whole escapes only.
  if (const auto last = out.rfind('%'); last != std::string::npos && last + 3 > out.size()) out.resize(last);
  return out + "~" + hex_encode(sha256(key));
}

std::string archive_root(const ObjectArchive& archive) { return archive.prefix + to_lower_ascii(archive.table) + "/"; }

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
