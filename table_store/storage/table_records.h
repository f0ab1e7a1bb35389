// The bytes of the table store's values (common/base/bytes.h). Every record begins with its format, 1. Decoding checks
// everything and fails with kCorruption. Pure; any thread.
//
//   entity   1 | flags u8 (1: has source version, 2: has operation, 4: restored, 8: has origin) | version i64 |
//            [source version i64] | [operation string] | [origin: follower, PartitionKey, RowKey strings] |
//            properties (model/property_block.h)
//   table    1 | generation u64 | name string | varint count | count * (id string | start? | expiry? | permission?)
//            x? is u8 0, or u8 1 and a string
//   ledger   common/base/operation_ledger.h
//   counter  1 | u64
#pragma once
#include "common/base/record.h"
#include "common/protocol/stored_policies.h"
#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

inline constexpr std::uint8_t kFormat = 1;

struct TableRecord {
  std::uint64_t generation = 0;
  std::string name;
  StoredPolicies acl;
};

/// `block` has the properties (model/property_block.h).
std::string encode_entity(Version version, std::optional<Version> source_version, std::string_view block,
                          std::string_view operation = {}, bool restored = false,
                          const std::optional<OriginView>& origin = {});
/// Reads only the head; the keys stay empty and the block is not examined.
Result<EntityView> view_entity(std::string_view bytes);

inline constexpr auto kTableRecord = record_format<TableRecord>(kFormat, "table", [](auto& io, auto& table) {
  io.u64(table.generation);
  io.string(table.name);
  protocol::policy_fields(io, table.acl);
});
/// Reads only the generation, for point reads.
Result<std::uint64_t> decode_table_generation(std::string_view bytes);

inline constexpr auto kCounterRecord =
    record_format<std::uint64_t>(kFormat, "counter", [](auto& io, auto& value) { io.u64(value); });

}  // namespace tidemark::table_store
