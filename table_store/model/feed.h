// The change feed of a table: every single change, those of a partition in the order in which they took effect, kept
// for a time and up to a size, independent of its readers. Each of several shards keeps its share of that size. The
// notes are those of the table's log (changes.h), so they are made in the transaction of the change. Plain values.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "table_store/model/entity.h"

namespace tidemark::table_store {

inline constexpr std::uint32_t kMaxFeedChanges = 1000;  // of a page
inline constexpr std::size_t kMaxFeedProperties = 252;
inline constexpr std::size_t kMaxFeedPlaces = 1000;
inline constexpr std::int64_t kMostRetention = 31'622'400;  // 366 days, in seconds
inline constexpr std::uint64_t kLeastFeedBytes = 1ULL << 20;
inline constexpr std::uint64_t kMostFeedBytes = 1ULL << 40;

/// The changes of a table that are kept.
struct ChangeFeed {
  std::int64_t retention_s = 86'400;     // 1..kMostRetention
  std::uint64_t max_bytes = 1ULL << 30;  // of notes; the oldest go first. Up to an eighth more may be stored.
  bool old_values = false;               // entities as they were before each change
  bool new_values = false;               // and as they were after it
  bool operator==(const ChangeFeed&) const = default;
};

/// A place between two notes of a shard's log: the first note that was not read yet. The notes of a transaction are
/// numbered from 0.
struct LogPlace {
  Version version = 0;
  std::uint32_t index = 0;
  auto operator<=>(const LogPlace&) const = default;
};

/// A place in a feed: a place in each shard's log.
struct FeedPlace {
  std::uint64_t generation = 0;  // of the feed: a feed that is declared anew after its end is another one
  std::vector<LogPlace> logs;

  [[nodiscard]] LogPlace of(std::size_t shard) const { return shard < logs.size() ? logs[shard] : LogPlace{}; }
  bool operator==(const FeedPlace&) const = default;
};
/// Returns a place in a feed that has one log.
inline FeedPlace place_in_feed(std::uint64_t generation, Version version, std::uint32_t index) {
  return {generation, {{version, index}}};
}

enum class ChangeKind : std::uint8_t {
  kInsert = 1,   // the entity did not exist
  kReplace = 2,  // of the whole entity
  kMerge = 3,
  kDelete = 4,
  kDrop = 5,    // of the table, with all its entities
  kCreate = 6,  // of a table of the same name
  kLast = kCreate,
};

struct Change {
  ChangeKind kind = ChangeKind::kInsert;
  Version version = 0;      // of its transaction, and of the entity, if that still exists
  std::uint32_t index = 0;  // in the transaction
  std::uint32_t shard = 0;  // the shard whose log has it
  std::string partition_key, row_key;
  /// The properties that were kept and asked for. Nothing where there was no entity.
  std::optional<std::vector<Property>> before, after;
  Version before_version = 0;  // of the entity before the change, if that is known
  std::string cause;           // the rules from which it comes (Fence::cause); empty: none
  /// For a drop: the places behind its notes in the logs of other shards.
  struct Elsewhere {
    std::uint32_t shard = 0;
    LogPlace behind;
  };
  std::vector<Elsewhere> elsewhere;
};

/// Moves the place behind this change. All earlier changes must have been read.
void pass(FeedPlace& place, const Change& change);

enum class FeedStart : std::uint8_t { kPlace = 1, kOldest = 2, kNow = 3, kLast = kNow };

struct FeedRequest {
  FeedStart start = FeedStart::kPlace;
  FeedPlace place = {};
  std::uint32_t limit = 100;             // 1..1000 changes
  Duration wait{};                       // for the first change, at most 5 s
  bool old_values = false;               // as far as they are kept
  bool new_values = false;               // likewise
  std::vector<std::string> select = {};  // only these properties of the values; all if empty
};

struct FeedPage {
  std::vector<Change> changes;
  FeedPlace begin;  // before all the changes
  FeedPlace next;
  bool more = false;  // there are changes from `next` on already
};
/// Returns the place behind the first `count` changes of a page.
FeedPlace place_behind(const FeedPage& page, std::size_t count);

/// The distance of a place from the end of the feed.
struct PlaceStatus {
  std::uint64_t changes = 0, bytes = 0;
  std::optional<Time> oldest;  // when the next change was made
  bool gone = false;           // some changes from there on are not kept any more
};

struct FeedStatus {
  std::string table;
  ChangeFeed feed;
  FeedPlace oldest, end;
  PlaceStatus kept;                 // of the oldest place
  std::vector<PlaceStatus> places;  // the places that were asked about
};

}  // namespace tidemark::table_store
