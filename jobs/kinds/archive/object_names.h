// Names of archived entities and parts, the same in a container and in a directory:
//   document  PREFIX table/ KEY / KEY .json                   partition key, row key
//   part      PREFIX table/ GROUP / JOB-EPOCH-NUMBER .jsonl   or .jsonl.gz
// The table is in lower case, since its name matches in any case. KEY is percent-encoded (unreserved characters except
// '.' and '~' stay). A KEY that would be longer than kMaxKeySegment is cut and ends with '~' and its SHA-256, and an
// empty one is "~", so no two keys share a name. GROUP is KEY of the partition, or a time of UTC cut off at the unit:
// 2026-11-21T19. A job numbers its parts anew in each epoch, so no two writers ever use the same name. Every segment is
// a portable file name, and names are valid for blobs and as row keys. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "jobs/kinds/archive/object_archive.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxKeySegment = 120;

std::string key_segment(std::string_view key);
/// Returns the text with which all names of an archive begin.
std::string archive_root(const ObjectArchive& archive);
/// Returns true for a name that an object of this archive can have. Objects of another archive may lie below the same
/// root, if its prefix is that root: their names have more segments.
bool is_object_name(const ObjectArchive& archive, std::string_view name);
/// Returns the root of the only archive that an object of this name can belong to.
std::string_view root_of_object(std::string_view name);
/// Returns that archive, as far as the name describes it; nothing if no archive has such names.
std::optional<ObjectArchive> archive_of_object(std::string_view name);
/// Returns the media type of an object of this name.
std::string_view type_of_object(std::string_view name);
std::string document_name(const ObjectArchive& archive, std::string_view partition_key, std::string_view row_key);
bool is_document_name(std::string_view name);
/// Returns the segment of the part that an entity belongs to; `version` is its Timestamp.
std::string part_group(const ObjectArchive& archive, std::string_view partition_key, std::int64_t version);
std::string part_name(const ObjectArchive& archive, std::string_view group, std::string_view job, std::uint64_t epoch,
                      std::uint64_t number);
bool is_part_name(std::string_view name);

}  // namespace tidemark::jobs
