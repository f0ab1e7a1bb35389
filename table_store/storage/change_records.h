// The bytes of a followed table's rows (table_keys.h), encoded like those of table_records.h. Every record begins with
// its format, 1. Pure; any thread.
#pragma once
#include <memory>

#include "common/base/record.h"
#include "common/kv/engine.h"
#include "table_store/model/changes.h"
#include "table_store/model/feed.h"
#include "table_store/storage/capture.h"

namespace tidemark::table_store {

/// A follower and its place in the log.
struct FollowerRecord {
  Following following;
  Version position = 0;
  std::uint64_t changes = 0, bytes = 0;  // of the log up to the position
  bool stale = false;
};

/// The change feed for users: the changes of the log that are kept, and where they begin.
struct KeptRecord {
  ChangeFeed feed = {};
  std::uint64_t generation = 0;
  Version gone = 0;                      // the version of the last note that is not kept
  std::uint32_t gone_index = 0;          // and its number in the transaction
  std::uint64_t changes = 0, bytes = 0;  // of the log up to there

  /// Returns the place where the kept changes begin.
  [[nodiscard]] LogPlace begin() const { return {gone, gone_index + 1}; }
};

/// For a feed whose log is divided over shards: each shard has a record of the whole feed, and its own part of the log.
struct FeedDivision {
  std::uint64_t shards = 1;
  std::uint64_t change = 0;   // the last change of the catalogue that this shard has made (table_changes.h)
  std::uint64_t dropped = 0;  // the last such change that dropped the table
};

struct FeedRecord {
  std::uint64_t feed = 0;
  std::string table;                      // in its own case
  std::vector<FollowerRecord> followers;  // by name
  std::optional<KeptRecord> kept;
  std::optional<FeedDivision> division;  // nothing in a store of one shard

  /// Returns this shard's share of a bound.
  [[nodiscard]] std::uint64_t share_of(std::uint64_t bound) const {
    return division ? std::max<std::uint64_t>(1, bound / division->shards) : bound;
  }
  /// Tells whether a follower makes rows that list entities, or makes rows in the table.
  [[nodiscard]] bool has_lists() const {
    return std::ranges::any_of(followers, [](const auto& each) {
      return each.following.lists.has_value() || each.following.own_rows.has_value();
    });
  }
  [[nodiscard]] bool needed() const { return kept || !followers.empty(); }

  [[nodiscard]] const FollowerRecord* find(std::string_view follower) const;
  [[nodiscard]] FollowerRecord* find(std::string_view follower);
};

/// The figures that every write needs. A write that exceeds a bound reads the feed's record.
struct HeadRecord {
  std::uint64_t changes = 0, bytes = 0;              // noted since the feed began
  std::uint64_t changes_bound = 0, bytes_bound = 0;  // beyond these, a follower is further behind than it may be
  bool live = false;                                 // false: all followers are stale, and nothing is noted
};

enum class NoteKind : std::uint8_t { kPut = 1, kErased = 2, kDropped = 3, kMerged = 4, kCreated = 5, kLast = kCreated };

/// A change.
struct Note {
  NoteKind kind = NoteKind::kPut;
  bool was_there = false;
  /// The version of the previous entity, if `before` has all its properties.
  std::optional<Version> before_version;
  std::string partition_key, row_key;    // of a drop in a divided store: empty, and its number (FeedDivision::change)
  std::string before;                    // the followed properties (model/property_block.h), if the entity existed
  std::optional<std::string> after;      // all properties
  std::string cause;                     // Fence::cause of the write
  std::uint64_t changes = 0, bytes = 0;  // of the log up to and including this note
};

inline constexpr std::uint8_t kChangeFormat = 1;

template <class Io, class Value>
void following_fields(Io& io, Value& following) {
  io.string(following.follower);
  io.list(following.properties, [&io](auto& name) { io.string(name); });
  io.u64(following.max_changes);
  io.u64(following.max_bytes);
  io.boolean(following.refuse_writes);
}

template <class Io, class Value>
void lists_fields(Io& io, Value& following) {
  const auto name = [&io](auto& text) { io.string(text); };
  io.optional(following.lists, [&](auto& lists) {
    io.string(lists.index);
    io.string(lists.table);
    io.list(lists.by, name);
    io.string(lists.filter);
    io.boolean(lists.in_partition);
    for (auto* text : {&lists.row_prefix, &lists.group, &lists.keys}) io.string(*text);
    for (auto* text : {&lists.progress.table, &lists.progress.partition_key, &lists.progress.row_key}) io.string(*text);
    for (auto* text : {&lists.state, &lists.complete}) io.string(*text);
  });
  io.optional(following.own_rows, [&](auto& rows) {
    io.boolean(rows.anything);
    io.list(rows.properties, name);
  });
}

template <class Io, class Value>
void declaration_fields(Io& io, Value& feed) {
  io.i64(feed.retention_s);
  io.u64(feed.max_bytes);
  io.boolean(feed.old_values);
  io.boolean(feed.new_values);
}

inline constexpr auto kFeedRecord = record_format<FeedRecord>(kChangeFormat, "feed", [](auto& io, auto& feed) {
  io.u64(feed.feed);
  io.string(feed.table);
  io.list(feed.followers, [&io](auto& follower) {
    following_fields(io, follower.following);
    io.i64(follower.position);
    io.u64(follower.changes);
    io.u64(follower.bytes);
    io.boolean(follower.stale);
  });
  // Fields missing at the end of a record are empty, as in records of older versions.
  constexpr bool kReads = std::remove_cvref_t<decltype(io)>::kReads;
  if constexpr (kReads) {
    if (io.bytes.finished()) return;
  } else {
    if (!feed.kept && !feed.division && !feed.has_lists()) return;
  }
  io.optional(feed.kept, [&io](auto& kept) {
    declaration_fields(io, kept.feed);
    io.u64(kept.generation);
    io.i64(kept.gone);
    io.varint(kept.gone_index);
    io.u64(kept.changes);
    io.u64(kept.bytes);
  });
  if constexpr (kReads) {
    if (io.bytes.finished()) return;
  } else {
    if (!feed.division && !feed.has_lists()) return;
  }
  auto division = feed.division.value_or(FeedDivision{.shards = 0});
  io.varint(division.shards);
  io.u64(division.change);
  io.u64(division.dropped);
  if constexpr (kReads) {
    if (division.shards > 0) feed.division = division;
    if (io.bytes.finished()) return;
  } else {
    if (!feed.has_lists()) return;
  }
  for (auto& follower : feed.followers) lists_fields(io, follower.following);
});

inline constexpr auto kHeadRecord =
    record_format<HeadRecord>(kChangeFormat, "head of a feed", [](auto& io, auto& head) {
      io.u64(head.changes);
      io.u64(head.bytes);
      io.u64(head.changes_bound);
      io.u64(head.bytes_bound);
      io.boolean(head.live);
    });

//   note   1 | kind u8 | flags u8 (1: was there, 2: with all properties, 4: has after) | PartitionKey string | RowKey string |
//          changes varint | bytes varint | [version i64] | [after string: properties] | [before: properties]
std::string encode_note(const Note& note);
Result<Note> decode_note(std::string_view bytes);
/// Tells whether a note is of a drop, without reading all of it.
inline bool is_of_drop(std::string_view note) {
  return note.size() > 1 && static_cast<NoteKind>(note[1]) == NoteKind::kDropped;
}

/// Returns nothing if the table has no followers.
Result<std::optional<FeedRecord>> read_feed(const kv::Reader& reader, std::string_view feed_key);
Result<HeadRecord> read_head(const kv::Reader& reader, std::uint64_t feed);
std::shared_ptr<const Capture> capture_of(const FeedRecord& feed, std::string feed_key);
/// Returns the capture for the table with this key of a feed. Null if the table has no followers.
Result<std::shared_ptr<const Capture>> read_capture(const kv::Reader& reader, std::string feed_key);
/// Returns the size beyond which the oldest notes of a feed are dropped: several at once.
std::uint64_t most_bytes(const FeedRecord& feed);
/// Computes the head's bounds anew from the followers.
void set_bounds(HeadRecord& head, const FeedRecord& feed);

}  // namespace tidemark::table_store
