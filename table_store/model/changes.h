// Following a table. In the transaction that changes an entity of a followed table, the change is noted in the table's
// change log on the entity's shard, so a follower misses none. The notes are in the order of their versions, which is
// the order in which the changes took effect there; so the changes of a partition are in order. Plain values.
//
// A follower has a position (position.h): it has processed all changes up to there. The log keeps the changes after the
// position of any follower. If a follower falls further behind than it may, its own choice decides: either writes to
// the table are refused with kServerBusy, or the follower becomes stale: the log no longer waits for it, and it has to
// begin anew.
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
inline constexpr std::size_t kMaxListTexts = 8192;          // bytes of the lists' description, without the filter
inline constexpr std::uint32_t kMaxChangedEntities = 10'000;

/// The options that a follower chooses.
struct Following {
  std::string follower;  // the follower's name: 1..256 bytes
  /// The log keeps the values that these properties had before a change. PartitionKey, RowKey and Timestamp may be
  /// among them and mean nothing here. A follower that adds a property while changes wait for it becomes stale.
  std::vector<std::string> properties;
  /// The most changes of the log that may wait for it; at least 1. Each of several shards has its share.
  std::uint64_t max_changes = 1'000'000;
  std::uint64_t max_bytes = 1ULL << 30;
  bool refuse_writes = false;  // beyond the bounds; false: it becomes stale
  /// The lists by which queries of the table may find entities.
  std::optional<EntityLists> lists = {};
  /// Nothing: it makes no rows in the table that it follows.
  std::optional<OwnRows> own_rows = {};
  bool operator==(const Following&) const = default;
};

/// The progress of a follower.
struct FollowerStatus {
  Following following;
  Position position;
  std::uint64_t changes_behind = 0;  // of all shards
  std::uint64_t bytes_behind = 0;
  /// When the oldest unprocessed change was made; for a stale follower, the time of its position. Nothing: it has
  /// processed all.
  std::optional<Time> oldest;
  bool stale = false;  // on any shard

  /// Returns the version up to which it has processed all changes that had been made when this was read.
  [[nodiscard]] Version reached() const {
    if (stale) return position.everywhere();
    const auto newest = position.newest();
    return oldest ? std::min(newest, Version{oldest->time_since_epoch().count() - 1}) : newest;
  }
};

/// An entity that has changed, listed once for all its changes in a page.
struct ChangedEntity {
  std::string partition_key, row_key;
  /// The followed properties before each of the changes, without repeats; no list for a change before which the entity
  /// did not exist. A property that an entity did not have is not listed.
  std::vector<std::vector<Property>> before;
  /// The present entity. Nothing: it is gone.
  std::optional<Entity> now;
  bool appeared = false;  // it did not exist before one of the changes
};

/// The changes after a position, and their entities as they are now: of each shard, all from one snapshot.
struct ChangesPage {
  std::vector<ChangedEntity> entities;  // in the order of their last changes
  /// The table was dropped at this version; it is the last change of the page on its shard. Every shard notes it.
  /// Entities of a table that was made again under the name have higher versions.
  std::optional<Version> dropped;
  Position through;  // of a follower that has processed this page
  Position as_of;    // of the snapshots
  /// Pages end between transactions, unless one is too large for a page: this many of its notes, which come after
  /// `through`, were in this page and earlier ones. Give it to the next call.
  NotesRead skip;
  bool more = false;                     // there are changes after `through` already
  bool stale = false;                    // the log no longer has all changes after the position: the page is empty
  std::uint64_t changes = 0, bytes = 0;  // of the log, in this page
};

}  // namespace tidemark::table_store
