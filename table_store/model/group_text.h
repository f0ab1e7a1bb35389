// Encodes the values by which entities are grouped as texts in keys. Texts of one type compare as their values do, so a
// range of values is a range of keys:
//   String             unchanged, with %XX for '%', ',' and characters that a key cannot have; one that would be
//                      the text of another type has a '%' behind it: true%
//   Int32, Int64       "p" or "n" and 19 digits: p0000000000000000042; for a negative value, the digits are those of
//                      10^19 plus the value
//   Double             "d" and 16 hex digits    Boolean   false, true
//   DateTime           2024-05-01T12:00:00.0000000Z     Guid      its text     Binary   "%x" and hex digits
// Several values are joined by ','. A text that is too long for a key is "%sha256:" and its digest, which no other text
// can be, since a '%' is always followed by two upper-case hex digits. Pure.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

/// In UTF-16 units; leaves room for the text around a group in a key.
inline constexpr std::size_t kMaxGroupUnits = 400;

/// The type of the value of a text; both kinds of whole numbers are one type.
enum class ValueType : std::uint8_t { kString, kWhole, kDouble, kBoolean, kTime, kGuid, kBinary };

/// Returns the text for a key: %XX for '%' and for characters that a key cannot have.
std::string escape_key_text(std::string_view text);
std::string key_text(const Value& value);
ValueType type_in_text(std::string_view text);
/// Returns the text of a String without the mark that tells it from other types: these texts compare as the Strings do.
std::string string_text(std::string_view value);
std::string_view without_mark(std::string_view text);
std::string join_values(const std::vector<std::string>& texts);
/// Returns the group of an entity; nothing if it lacks one of the properties. PartitionKey and RowKey are properties,
/// too.
std::optional<std::string> group_of(const std::vector<std::string>& by, std::string_view partition_key,
                                    std::string_view row_key, const std::vector<Property>& properties);

}  // namespace tidemark::table_store
