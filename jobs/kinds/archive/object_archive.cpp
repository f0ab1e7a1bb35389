#include "jobs/kinds/archive/object_archive.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxPrefixLength = 100;
constexpr std::size_t kMaxDirectoryNameLength = 63;
constexpr Names<ArchiveFormat, 2> kFormats{{{ArchiveFormat::kEntity, "entity"}, {ArchiveFormat::kLines, "lines"}}};
constexpr Names<PartUnit, 4> kUnits{{{PartUnit::kPartition, "partition"},
                                     {PartUnit::kHour, "hour"},
                                     {PartUnit::kDay, "day"},
                                     {PartUnit::kMonth, "month"}}};

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

bool is_plain(char c) { return is_lower_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_'; }

}  // namespace

bool is_container_name(std::string_view name) {
  if (name.size() < 3 || name.size() > 63 || name.front() == '-' || name.back() == '-') return false;
  if (name.find("--") != std::string_view::npos) return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

/// Segments of plain characters and inner dots, each ended by '/': never ".", ".." or empty.
bool is_object_prefix(std::string_view prefix) {
  if (prefix.size() > kMaxPrefixLength) return false;
  if (prefix.empty()) return true;
  if (prefix.back() != '/') return false;
  char before = '/';
  for (const char c : prefix) {
    const bool fits = c == '/' || c == '.' ? is_plain(before) : is_plain(c);
    if (!fits) return false;
    before = c;
  }
  return true;
}

bool is_directory_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxDirectoryNameLength && std::all_of(name.begin(), name.end(), &is_plain);
}

ObjectArchive read_object_archive(SpecReader& in, const json& object, const char* member, const std::string& table) {
  SpecReader reader(object);
  ObjectArchive archive;
  archive.container = reader.text("container", false).value_or("");
  archive.directory = reader.text("directory", false).value_or("");
  archive.prefix = reader.text("prefix", false).value_or("");
  archive.table = table;
  if (reader.has("table")) archive.table = reader.table("table");
  const std::string where(member);
  if (reader.has("container") == reader.has("directory")) in.problem(where + " needs a container or a directory");
  if (!archive.container.empty() && !is_container_name(archive.container)) {
    in.problem(where + ": container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  if (!archive.directory.empty() && !is_directory_name(archive.directory)) {
    in.problem(where + ": directory must be a name of the worker's configuration, not a path");
  }
  if (!is_object_prefix(archive.prefix)) {
    in.problem(where + ": prefix must be segments of letters, digits, '-', '_' and inner dots, each ended by '/'");
  }
  archive.format = reader.choice("format", kFormats, archive.format);
  archive.per = reader.choice("per", kUnits, archive.per);
  archive.gzip = reader.boolean("gzip").value_or(false);
  if (archive.format == ArchiveFormat::kEntity && (reader.has("per") || archive.gzip)) {
    in.problem(where + ": per and gzip are for format lines");
  }
  reader.refuse_unknown();
  for (const auto& problem : reader.problems()) in.problem(where + ": " + problem);
  return archive;
}

nlohmann::ordered_json to_json(const ObjectArchive& archive) {
  nlohmann::ordered_json out;
  if (archive.directory.empty()) {
    out["container"] = archive.container;
  } else {
    out["directory"] = archive.directory;
  }
  if (!archive.prefix.empty()) out["prefix"] = archive.prefix;
  out["table"] = archive.table;
  out["format"] = name_in(kFormats, archive.format);
  if (archive.format == ArchiveFormat::kLines) {
    out["per"] = name_in(kUnits, archive.per);
    if (archive.gzip) out["gzip"] = true;
  }
  return out;
}

std::string text_of(const ObjectArchive& archive) {
  auto out = archive.directory.empty() ? "container " + archive.container : "directory " + archive.directory;
  return out + "/" + archive.prefix;
}

}  // namespace tidemark::jobs
