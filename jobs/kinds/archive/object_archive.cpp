#include "jobs/kinds/archive/object_archive.h"

#include <algorithm>

#include "blob_store/model/names.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMaxDirectoryNameLength = 63;
constexpr Names<ArchiveFormat, 2> kFormats{{{ArchiveFormat::kEntity, "entity"}, {ArchiveFormat::kLines, "lines"}}};
constexpr Names<PartUnit, 4> kUnits{{{PartUnit::kPartition, "partition"},
                                     {PartUnit::kHour, "hour"},
                                     {PartUnit::kDay, "day"},
                                     {PartUnit::kMonth, "month"}}};

bool is_plain(char c) { return is_alphanumeric(c) || c == '-' || c == '_'; }

}  // namespace

bool is_container_name(std::string_view name) {
  return !name.starts_with('$') && blob_store::check_container_name(name).has_value();
}

/// Checks for segments of plain characters and inner dots, each ended by '/': never ".", ".." or empty.
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

void ObjectArchive::members(SpecMembers& in) {
  if (in.text("container", container, {.meaning = "a container instead of a table", .least = 3, .most = 63}) &&
      !is_container_name(container)) {
    in.problem("container must have 3 to 63 lower case letters, digits and single inner hyphens");
  }
  const About about_directory{.meaning = "a directory of the workers' configuration instead of a table",
                              .pattern = kDirectoryPattern};
  if (in.text("directory", directory, about_directory) && !is_directory_name(directory)) {
    in.problem("directory must be a name of the worker's configuration, not a path");
  }
  if (in.text("prefix", prefix, kAboutPrefix) && !is_object_prefix(prefix)) {
    in.problem("prefix must be segments of letters, digits, '-', '_' and inner dots, each ended by '/'");
  }
  in.table("table", table, {.meaning = "the table that was archived, if it is not the job's own"}, false);
  in.choice("format", kFormats, format, {.meaning = "entity (one document each) or lines (parts of many)"});
  if (in.writes() && format == ArchiveFormat::kEntity) return;
  in.choice("per", kUnits, per, {.meaning = "a part holds one partition, hour, day or month"});
  in.flag("gzip", gzip, {.meaning = "compress the parts"});
  if (format == ArchiveFormat::kEntity && (in.has("per") || gzip)) in.problem("per and gzip are for format lines");
}

std::string text_of(const ObjectArchive& archive) {
  auto out = archive.directory.empty() ? "container " + archive.container : "directory " + archive.directory;
  return out + "/" + archive.prefix;
}

}  // namespace tidemark::jobs
