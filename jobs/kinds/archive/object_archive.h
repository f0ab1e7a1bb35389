// An archive outside of tables, as a job names it: documents or parts in a container, or in a directory that the
// operator allows. The JSON, in place of a table's name:
//   {"container":C | "directory":D, "prefix":P?, "table":T?, "format":"entity"|"lines", "per":U?, "gzip":true?}
// `prefix` is put before every name. `table` is the table that was archived, if it is not the job's own. `per` and
// `gzip` are for `lines`. Pure.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/time.h"
#include "jobs/spec/description.h"

namespace tidemark::jobs {

class SpecMembers;

inline constexpr std::size_t kMaxPrefixLength = 100;
inline constexpr About kAboutPrefix{.meaning = "before every name, such as old/", .most = kMaxPrefixLength};
inline constexpr const char* kDirectoryPattern = "^[A-Za-z0-9_-]{1,63}$";

enum class ArchiveFormat : std::uint8_t { kEntity = 1, kLines = 2 };
/// The contents of a part of format `lines`: the entities of a partition, or those with Timestamps in a period of UTC.
enum class PartUnit : std::uint8_t { kPartition = 1, kHour = 2, kDay = 3, kMonth = 4 };

struct ObjectArchive {
  std::string container;  // either this or `directory` is given
  std::string directory;  // a name that the worker's configuration maps to a path
  std::string prefix;
  std::string table;
  ArchiveFormat format = ArchiveFormat::kEntity;
  PartUnit per = PartUnit::kPartition;
  bool gzip = false;
  bool operator==(const ObjectArchive&) const = default;
  void members(SpecMembers& in);
};

bool is_container_name(std::string_view name);
bool is_object_prefix(std::string_view prefix);
/// Returns true for a valid name of an allowed directory.
bool is_directory_name(std::string_view name);
/// Returns a text for people: "container People/old/"
std::string text_of(const ObjectArchive& archive);

}  // namespace tidemark::jobs
