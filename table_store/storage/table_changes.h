// Changes of a table that concern every shard of the store: its drop, and changes of its followers. They are changes of
// the catalogue (common/shards/catalogue_copies.h): each shard makes its part in a transaction of its own, and the
// first, which has the table, makes it last. Each shard has a log of the changes that were made there, and a record of
// the followers: a follower's place in that log, and a feed's begin. With one shard all of it is one transaction. A
// drop that an earlier version began is the generation alone, 8 bytes. Private to storage/. Pure.
#pragma once
#include <string>

#include "table_store/storage/change_records.h"

namespace tidemark::table_store {

enum class TableChangeKind : std::uint8_t { kDrop = 1, kFollow, kUnfollow, kPutFeed, kDropFeed, kLast = kDropFeed };

struct TableChange {
  TableChangeKind kind = TableChangeKind::kDrop;
  Version now = 0;               // when it began
  std::uint64_t generation = 0;  // kDrop: of the table; kPutFeed: of the feed, if it begins
  std::uint64_t shards = 1;      // of the store
  std::uint64_t feed = 0;        // the number of the log, if it begins
  std::string table = {};        // in its own case
  Following following = {};      // kFollow; kUnfollow: its name
  bool anew = false;             // kFollow: with a new position
  ChangeFeed kept = {};          // kPutFeed
};

std::string encode_table_change(const TableChange& change);
Result<TableChange> decode_table_change(std::string_view bytes);

/// Makes a shard's part, in the transaction that changes its copy of the table's row. `version`: of the change; making
/// the same change again has no effect.
Result<void> change_logs(kv::Transaction& txn, const std::string& feed_key, std::uint64_t version,
                         const TableChange& change);

}  // namespace tidemark::table_store
