// The limits of the protocol: names, keys, properties and sizes ("Understanding the Table service data model"), each
// with its documented error. Pure; any thread. Both faces rely on TableService calling these; call them earlier only
// for an earlier error.
#pragma once
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxKeyUnits = 512;  // UTF-16 code units
inline constexpr std::size_t kMaxPropertyNameUnits = 255;
inline constexpr std::size_t kMaxProperties = 252;
inline constexpr std::size_t kMaxStringUnits = 32UL << 10;
inline constexpr std::size_t kMaxBinaryBytes = 64UL << 10;
inline constexpr std::size_t kMaxEntityBytes = 1UL << 20;
inline constexpr std::size_t kMaxMutations = 100;
inline constexpr std::size_t kMaxMoves = 100;  // our own limit for an internal call
inline constexpr std::size_t kMaxGets = 100;   // likewise
inline constexpr std::size_t kMaxSearches = 1000;
inline constexpr std::size_t kMaxMutationsOfAll = 1000;  // of a call, over all partitions
/// Well under the wire's bound on a message, with room for one more entity of the largest size.
inline constexpr std::size_t kMaxReplyBytes = 4UL << 20;
inline constexpr std::uint32_t kMaxPageEntities = 1000;

Result<void> check_table_name(std::string_view name);
/// Tells whether this is a table of storage analytics, from which users read and delete entities, and which no list
/// shows.
bool is_metrics_table(std::string_view name);
Result<void> check_key(std::string_view key);
/// Returns the length of the character that the text begins with, if a key cannot hold it; otherwise 0.
std::size_t forbidden_key_bytes(std::string_view text);
/// Tells whether every entity has this property besides its own: PartitionKey, RowKey, Timestamp.
bool is_system_property(std::string_view name);
/// Checks the name of one of an entity's own properties.
Result<void> check_property_name(std::string_view name);
/// Tells whether the time is in the years 1601 to 9999.
bool can_hold(Time time);
Result<void> check_value(const Value& value);
/// Checks all properties of one request or one entity, including the total size.
Result<void> check_properties(std::string_view partition_key, std::string_view row_key,
                              const std::vector<Property>& properties);
/// Checks only number and size, for the result of merging parts that were checked.
Result<void> check_entity_size(std::string_view partition_key, std::string_view row_key,
                               const std::vector<Property>& properties);
Result<void> check_selection(const Selection& selection);

}  // namespace tidemark::table_store
