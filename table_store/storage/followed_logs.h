// The logs of a followed table, one on each shard, as snapshots show them, and their joint figures. Private to
// storage/.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table_store/storage/change_records.h"
#include "table_store/storage/table_shards.h"

namespace tidemark::table_store {

/// Notes that are read before the thread is given away.
inline constexpr std::size_t kNotesInASlice = 64;
inline constexpr Duration kMaxWaitForChanges = std::chrono::seconds(5);

struct ShardLog {
  std::size_t shard = 0;
  std::shared_ptr<const kv::Reader> rows;
  FeedRecord feed;
};
/// By shard; a store that is not divided has one. Empty: the table has no followers.
using FollowedLogs = std::vector<ShardLog>;

/// The snapshots are not of one moment. The catalogue's is the first: a follower that it shows is on every shard.
Result<FollowedLogs> logs_of(const TableShards& shards, const std::string& feed_key);
/// Returns the same if there is a change feed; otherwise kFeedNotFound.
Result<FollowedLogs> kept_logs_of(const TableShards& shards, const std::string& feed_key);

/// Returns false also while the follower is being removed from one shard after another.
bool has_follower(const FollowedLogs& logs, const std::string& follower);
/// Returns the status of a follower that exists.
Result<FollowerStatus> status_of(const FollowedLogs& logs, const std::string& follower);
/// Fails with kInvalidInput; where processes share the shards, with kServerBusy, since one may have given a position
/// that another does not see yet.
std::unexpected<Error> fail_too_high(const TableShards& shards);
/// Returns the version of the first note after this version.
Result<std::optional<Version>> first_note_after(const kv::Reader& rows, std::uint64_t feed, Version version);

/// The places where the feed's kept changes begin and end. While the table is being dropped, the end is before the drop
/// on every shard; the name is not free yet, so nothing comes after the note.
FeedPlace begin_of(const FollowedLogs& logs);
struct FeedEnd {
  FeedPlace place;
  Position seen;  // the last versions that the snapshots show
};
Result<FeedEnd> end_of(const FollowedLogs& logs);
Result<PlaceStatus> status_of(const FollowedLogs& logs, const FeedPlace& place);

}  // namespace tidemark::table_store
