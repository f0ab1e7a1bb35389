// How the values by which entities are grouped stand in keys. Texts of one type compare as their values do, so a range
// of values is a range of keys:
//   String             as it is, with %XX for '%', ',' and what a key cannot have; one that would be the text of another
//                      type has a '%' behind it: true%
//   Int32, Int64       "p" or "n" and 19 digits: p0000000000000000042; of negative ones, what is missing to 10^19
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

/// In UTF-16 units; leaves room for what surrounds a group in a key.
inline constexpr std::size_t kMaxGroupUnits = 400;

/// What a text stands for; both kinds of whole numbers are one.
enum class ValueType : std::uint8_t { kString, kWhole, kDouble, kBoolean, kTime, kGuid, kBinary };

/// A text in keys: %XX for '%' and for what a key cannot have.
std::string escape_key_text(std::string_view text);
std::string key_text(const Value& value);
ValueType type_in_text(std::string_view text);
/// Of a String, without what tells it from texts of other types: these compare as the Strings do.
std::string string_text(std::string_view value);
std::string_view without_mark(std::string_view text);
std::string join_values(const std::vector<std::string>& texts);
/// The group of an entity; nothing if it has not all of the properties. PartitionKey and RowKey are properties, too.
std::optional<std::string> group_of(const std::vector<std::string>& by, std::string_view partition_key,
                                    std::string_view row_key, const std::vector<Property>& properties);

}  // namespace tidemark::table_store
