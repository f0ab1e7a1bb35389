// The bytes of the table store's values (common/base/bytes.h). Every record begins with its format, 1. Decoding checks
// everything and fails with kCorruption. Pure; any thread.
//
//   entity   1 | flags u8 (1: has source version, 2: has operation) | version i64 |
//            [source version i64] | [operation string] | varint count |
//            count * (name string | type u8 | value)
//            type 1 String: string   2 Int32: zigzag varint   3 Int64: i64   4 Double: f64   5 Boolean: u8 0 or 1
//            6 DateTime: i64 ticks since 1970   7 Guid: 16 bytes   8 Binary: string
//   table    1 | generation u64 | name string | varint count | count * (id string | start? | expiry? | permission?)
//            x? is u8 0, or u8 1 and a string
//   ledger   1 | epoch varint | closed u8 | varint count | count * (name string | value varint)
//   counter  1 | u64
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "table_store/model/mutation.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

struct TableRecord {
  std::uint64_t generation = 0;
  std::string name;
  std::vector<SignedIdentifier> acl;
};

std::string encode_entity(Version version, std::optional<Version> source_version,
                          const std::vector<Property>& properties, std::string_view operation = {});
/// Fills all but the keys.
Result<void> decode_entity(std::string_view bytes, Entity& into);

void write_properties(ByteWriter& out, const std::vector<Property>& properties);
/// False for bytes that are not properties.
bool read_properties(ByteReader& in, std::vector<Property>& into);

struct EntityVersions {
  Version version = 0;
  std::optional<Version> source_version;
  std::string_view operation;  // in the bytes that were decoded
  [[nodiscard]] Version effective() const { return source_version.value_or(version); }
};
/// The head of an entity alone, for conditions.
Result<EntityVersions> decode_entity_versions(std::string_view bytes);

std::string encode_table(const TableRecord& table);
Result<TableRecord> decode_table(std::string_view bytes);
/// The generation alone, for point reads.
Result<std::uint64_t> decode_table_generation(std::string_view bytes);

std::string encode_ledger(const OperationLedger& ledger);
Result<OperationLedger> decode_ledger(std::string_view bytes);

std::string encode_counter(std::uint64_t value);
Result<std::uint64_t> decode_counter(std::string_view bytes);

}  // namespace tidemark::table_store
