// The keyspace of the table store. Parts are the order-preserving encodings of common/kv/key_codec.h. Pure.
// The key 'a' is that of common/kv/age_clock.h, as everywhere; keys with 'y' are those of common/analytics/backlog.h.
//   key                                                  value (table_records.h)
//   'c' text(account) text(lower-case table name)        in a store of several shards, the copy of the table's row on
//                                                        each but the first, and on that the mark of a change:
//                                                        common/shards/catalogue_copies.h
//   'd' u64(generation)                                  empty: a dropped table, or a feed without followers, whose
//                                                        rows are still to be erased
//   'e' u64(generation) utf16(PartitionKey) utf16(RowKey)  entity
//   'f' text(account) text(lower-case table name)        feed: the table's followers, their progress on this shard,
//                                                        and the changes kept here for readers of its change feed
//                                                        (change_records.h)
//   'g'                                                  counter: last generation given out
//   'h' u64(feed)                                        head of a feed, on this shard
//   'l' u64(feed) u64(version) u64(index)                note: a change of a followed table, on this shard
//   'o' text(account) text(operation id)                 operation ledger
//   'O' the key of a ledger                               the time of its last change: common/kv/fading_rows.h
//   'p' text(account)                                    service properties, XML
//   't' text(account) text(lower-case table name)        table: generation, name in its own case, ACL
//   'v'                                                  counter: last version given out, on this shard
//
// In a store of several shards, each has 'e', 'o', 'O', 'd' and 'v' of its own, and the 'f', 'h' and 'l' of followed
// tables; tables and their other rows are on the first. Entities are placed by account, lower-case table name and
// PartitionKey. A feed has the same number on all shards.
//
// A generation is never reused, so dropping a table is erasing its 't' row and adding a 'd' row. A feed is numbered as
// generations are. It belongs to a name, so it outlives the table. The index counts the notes of a transaction.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/encoding.h"
#include "common/kv/fading_rows.h"
#include "common/kv/key_codec.h"
#include "table_store/model/entity.h"

namespace tidemark::table_store {

inline constexpr char kCopiedTable = 'c';
inline constexpr char kDroppedGeneration = 'd';
inline constexpr char kServiceProperties = 'p';
inline constexpr std::string_view kLastGenerationKey = "g";
inline constexpr std::string_view kLastVersionKey = "v";

inline std::string table_key(std::string_view account, std::string_view table) {
  return kv::key('t', kv::Text{account}, kv::Text{to_lower_ascii(table)});
}
kv::KeyRange tables_range(std::string_view account, std::string_view from_table);

inline constexpr std::size_t kEntityPrefixBytes = 9;
inline std::string entity_prefix(std::uint64_t generation) { return kv::key('e', generation); }
inline kv::KeyRange entities_of(std::uint64_t generation) {
  return {entity_prefix(generation), entity_prefix(generation + 1)};
}
inline std::string entity_key(std::uint64_t generation, std::string_view partition_key, std::string_view row_key) {
  return kv::key('e', generation, kv::Utf16{partition_key}, kv::Utf16{row_key});
}
/// The parts of an entity's key, read in place where possible. Views are valid as long as the key and the reader.
class EntityKeyReader {
 public:
  bool read(std::string_view key);
  std::string_view partition_key, row_key;

 private:
  std::string partition_scratch_, row_scratch_;
};

inline std::string feed_key(std::string_view account, std::string_view table) {
  return kv::key('f', kv::Text{account}, kv::Text{to_lower_ascii(table)});
}
inline kv::KeyRange feeds_range() { return kv::under("f"); }
/// Returns the range of an account's feeds, from a table on.
kv::KeyRange feeds_range(std::string_view account, std::string_view from_table);
inline std::string head_key(std::uint64_t feed) { return kv::key('h', feed); }
inline std::string note_key(std::uint64_t feed, Version version, std::uint64_t index) {
  return kv::key('l', feed, static_cast<std::uint64_t>(version), index);
}
/// Returns the range of notes from this place on.
inline kv::KeyRange notes_from(std::uint64_t feed, Version version, std::uint64_t index) {
  return {note_key(feed, version, index), kv::under(kv::key('l', feed)).upper};
}
inline kv::KeyRange notes_of(std::uint64_t feed) { return kv::under(kv::key('l', feed)); }
/// Returns the range of notes with a higher version.
inline kv::KeyRange notes_after(std::uint64_t feed, Version version) {
  return {note_key(feed, version + 1, 0), notes_of(feed).upper};
}
/// The version in the key of a note, and its number in the transaction; nothing if the key is not a note's.
struct NotePlace {
  Version version = 0;
  std::uint64_t index = 0;
};
std::optional<NotePlace> place_of_note(std::string_view key);

inline std::string operation_key(std::string_view account, std::string_view operation_id) {
  return kv::key('o', kv::Text{account}, kv::Text{operation_id});
}
/// The ledgers of operations, which fade: those of users and those of workers.
inline kv::FadingRows fading_operations() { return {{"o", "p"}, "O"}; }

}  // namespace tidemark::table_store
