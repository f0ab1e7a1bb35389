// Reads and writes the rows of a followed table's log, in a transaction or a snapshot. Private to storage/.
#pragma once
#include "common/kv/generations.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {

struct LoadedFeed {
  FeedRecord record;
  HeadRecord head;
};

inline Result<std::optional<LoadedFeed>> load_feed(const kv::Reader& reader, const std::string& key) {
  auto record = TRY(read_feed(reader, key));
  if (!record) return std::nullopt;
  const auto head = TRY(read_head(reader, record->feed));
  return LoadedFeed{std::move(*record), head};
}

inline void store_feed(kv::Transaction& txn, const std::string& key, LoadedFeed& feed) {
  set_bounds(feed.head, feed.record);
  txn.put(key, kFeedRecord.encode(feed.record));
  txn.put(head_key(feed.record.feed), kHeadRecord.encode(feed.head));
}

/// Stores the feed's rows. The log ends when no follower and no change feed needs it.
inline void store_or_end_feed(kv::Transaction& txn, const std::string& key, LoadedFeed& feed) {
  if (feed.record.needed()) return store_feed(txn, key, feed);
  txn.erase(key);
  txn.erase(head_key(feed.record.feed));
  kv::drop_generation(txn, kDroppedGeneration, feed.record.feed);
}

inline Result<std::uint64_t> next_generation(kv::Transaction& txn) {
  const auto generation = TRY(read_counter(txn, kLastGenerationKey)) + 1;
  txn.put(kLastGenerationKey, kCounterRecord.encode(generation));
  return generation;
}

inline Result<Version> last_version(const kv::Reader& reader) {
  return static_cast<Version>(TRY(read_counter(reader, kLastVersionKey)));
}

}  // namespace tidemark::table_store
