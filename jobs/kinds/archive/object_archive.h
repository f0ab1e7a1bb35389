// An archive outside of tables: documents or parts in a container or in a directory that the operator allows, as a job
// names it. Its JSON, in the place of a table's name:
//   {"container":C | "directory":D, "prefix":P?, "table":T?, "format":"entity"|"lines", "per":U?, "gzip":true?}
// `prefix` goes before every name. `table` is the table whose entities these are: the job's own unless given. `per` and
// `gzip` are of `lines`. Pure; any thread.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/time.h"

namespace tidemark::jobs {

enum class ArchiveFormat : std::uint8_t { kEntity = 1, kLines = 2 };
/// What a part of format `lines` holds: one partition's entities, or those whose Timestamp is in one stretch of UTC.
enum class PartUnit : std::uint8_t { kPartition = 1, kHour = 2, kDay = 3, kMonth = 4 };

struct ObjectArchive {
  std::string container;  // one of the two is given
  std::string directory;  // a name that the worker's configuration maps to a path
  std::string prefix;
  std::string table;
  ArchiveFormat format = ArchiveFormat::kEntity;
  PartUnit per = PartUnit::kPartition;
  bool gzip = false;
  bool operator==(const ObjectArchive&) const = default;
};

class SpecReader;
/// The archive at `member`, whose job has its entities in `table`. Notes every problem with the reader of the job.
ObjectArchive read_object_archive(SpecReader& in, const nlohmann::json& object, const char* member,
                                  const std::string& table);
nlohmann::ordered_json to_json(const ObjectArchive& archive);
bool is_container_name(std::string_view name);
bool is_object_prefix(std::string_view prefix);
/// What an operator may call an allowed directory.
bool is_directory_name(std::string_view name);
/// For a person: "container People/old/"
std::string text_of(const ObjectArchive& archive);

}  // namespace tidemark::jobs
