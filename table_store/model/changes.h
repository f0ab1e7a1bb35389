// Following a table. In the transaction that changes an entity of a followed table, the change is noted in the table's
// change log on the entity's shard, so whoever follows misses none. The notes are in the order of their versions, which
// is the order in which the changes took effect there; so the changes of a partition are in their order. Plain values.
//
// A follower has a position (position.h): up to where it has dealt with all changes. The log keeps what is after the
// position of any follower. A follower that falls further behind than it may is dealt with as it asked for: writes to
// the table are refused with kServerBusy, or it is stale: the log no longer waits for it, and it has to begin anew.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity.h"
#include "table_store/model/entity_lists.h"
#include "table_store/model/position.h"

namespace tidemark::table_store {

inline constexpr std::size_t kMaxFollowers = 16;  // of a table
inline constexpr std::size_t kMaxFollowerNameBytes = 256;
inline constexpr std::size_t kMaxFollowedProperties = 128;  // for each follower
inline constexpr std::size_t kMaxListProperties = 4;        // by which lists are made
inline constexpr std::size_t kMaxListTexts = 8192;          // bytes of their description, without the filter
inline constexpr std::uint32_t kMaxChangedEntities = 10'000;

/// What a follower asks for.
struct Following {
  std::string follower;  // its name: 1..256 bytes
  /// Of a change, the log keeps the values that these properties had before. PartitionKey, RowKey and Timestamp may be
  /// among them and mean nothing here. Whoever asks for one more while changes wait is stale.
  std::vector<std::string> properties;
  /// So much of the log may wait for it; at least 1. Each of several shards has its share.
  std::uint64_t max_changes = 1'000'000;
  std::uint64_t max_bytes = 1ULL << 30;
  bool refuse_writes = false;  // beyond: false: it is stale
  /// By which queries of the table may find entities.
  std::optional<EntityLists> lists = {};
  /// Nothing: it makes no rows in the table that it follows.
  std::optional<OwnRows> own_rows = {};
  bool operator==(const Following&) const = default;
};

/// How far a follower is.
struct FollowerStatus {
  Following following;
  Position position;
  std::uint64_t changes_behind = 0;  // of all shards
  std::uint64_t bytes_behind = 0;
  /// When the oldest change that it has not dealt with was made; of a stale follower, the time of its position.
  /// Nothing: it has dealt with all.
  std::optional<Time> oldest;
  bool stale = false;  // on any shard

  /// The version up to which it has dealt with all changes that had been made when this was read.
  [[nodiscard]] Version reached() const {
    if (stale) return position.everywhere();
    const auto newest = position.newest();
    return oldest ? std::min(newest, Version{oldest->time_since_epoch().count() - 1}) : newest;
  }
};

/// An entity that has changed, once for all its changes in a page.
struct ChangedEntity {
  std::string partition_key, row_key;
  /// What the followed properties were before each of the changes, without repeats; nothing for an entity that was not
  /// there. A property that an entity did not have is not listed.
  std::vector<std::vector<Property>> before;
  /// As it is now. Nothing: it is gone.
  std::optional<Entity> now;
  bool appeared = false;  // it was not there before one of the changes
};

/// The changes after a position, and what became of their entities: of each shard, all of one snapshot.
struct ChangesPage {
  std::vector<ChangedEntity> entities;  // in the order of their last changes
  /// The table was dropped at this version; it is the last change of the page on its shard. Every shard tells it.
  /// Entities of a table that was made again under the name have higher versions.
  std::optional<Version> dropped;
  Position through;  // of a follower that has dealt with this page
  Position as_of;    // of the snapshots
  /// Pages end between transactions, except in one that is too large for a page: so many of its notes, which come after
  /// `through`, were in this page and those before. Give it to the next call.
  NotesRead skip;
  bool more = false;                     // there are changes after `through` already
  bool stale = false;                    // the log no longer has all changes after the position: the page is empty
  std::uint64_t changes = 0, bytes = 0;  // of the log, in this page
};

}  // namespace tidemark::table_store
