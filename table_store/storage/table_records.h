// The bytes of the table store's values (common/base/bytes.h). Every record begins with its format, 1. Decoding checks
// everything and fails with kCorruption. Pure; any thread.
//
//   entity   1 | flags u8 (1: has source version, 2: has operation, 4: restored) | version i64 |
//            [source version i64] | [operation string] | properties (model/property_block.h)
//   table    1 | generation u64 | name string | varint count | count * (id string | start? | expiry? | permission?)
//            x? is u8 0, or u8 1 and a string
//   ledger   common/base/operation_ledger.h
//   counter  1 | u64
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "common/base/stored_policy.h"
#include "table_store/model/entity_view.h"

namespace tidemark::table_store {

struct TableRecord {
  std::uint64_t generation = 0;
  std::string name;
  StoredPolicies acl;
};

/// `block` has the properties (model/property_block.h).
std::string encode_entity(Version version, std::optional<Version> source_version, std::string_view block,
                          std::string_view operation = {}, bool restored = false);
/// Reads only the head; the keys stay empty and the block is not examined.
Result<EntityView> view_entity(std::string_view bytes);

std::string encode_table(const TableRecord& table);
Result<TableRecord> decode_table(std::string_view bytes);
/// The generation alone, for point reads.
Result<std::uint64_t> decode_table_generation(std::string_view bytes);

std::string encode_counter(std::uint64_t value);
Result<std::uint64_t> decode_counter(std::string_view bytes);

}  // namespace tidemark::table_store
