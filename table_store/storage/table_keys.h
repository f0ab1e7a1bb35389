// The keyspace of the table store. Parts are the order-preserving encodings of common/kv/key_codec.h. Pure.
//
//   key                                                  value (table_records.h)
//   'd' u64(generation)                                  empty: a dropped table whose rows are still to be erased
//   'e' u64(generation) utf16(PartitionKey) utf16(RowKey)  entity
//   'g'                                                  counter: last generation given out
//   'o' text(account) text(operation id)                 operation ledger
//   'O' the key of a ledger                               since when it has not changed: common/kv/fading_rows.h
//   'p' text(account)                                    service properties, XML
//   't' text(account) text(lower-case table name)        table: generation, name in its own case, ACL
//   'v'                                                  counter: last version given out, in the whole store
//
// A generation is never reused, so dropping a table is erasing its 't' row and adding a 'd' row.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/kv/engine.h"
#include "common/kv/fading_rows.h"

namespace tidemark::table_store {

inline constexpr char kDroppedGeneration = 'd';
inline constexpr std::string_view kLastGenerationKey = "g";
inline constexpr std::string_view kLastVersionKey = "v";

std::string table_key(std::string_view account, std::string_view table);
kv::KeyRange tables_range(std::string_view account, std::string_view from_table);

kv::KeyRange entities_of(std::uint64_t generation);
std::string entity_prefix(std::uint64_t generation);
std::string entity_key(std::uint64_t generation, std::string_view partition_key, std::string_view row_key);
struct EntityKeyParts {
  std::string partition_key, row_key;
};
std::optional<EntityKeyParts> parse_entity_key(std::string_view key);
/// The parts of an entity's key, read in place where possible. Views are valid as long as the key and the reader.
class EntityKeyReader {
 public:
  bool read(std::string_view key);
  std::string_view partition_key, row_key;

 private:
  std::string partition_scratch_, row_scratch_;
};
inline constexpr std::size_t kEntityPrefixBytes = 9;

std::string operation_key(std::string_view account, std::string_view operation_id);
/// The ledgers of operations, which fade: those of users and those of workers.
kv::FadingRows fading_operations();
std::string service_properties_key(std::string_view account);

}  // namespace tidemark::table_store
