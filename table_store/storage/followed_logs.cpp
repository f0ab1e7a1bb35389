#include "table_store/storage/followed_logs.h"

#include "table_store/storage/feed_rows.h"
#include "table_store/storage/kept_changes.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

std::uint64_t dropped_on(const ShardLog& log) { return log.feed.division ? log.feed.division->dropped : 0; }

Result<std::optional<NotePlace>> last_note(const ShardLog& log) {
  const auto cursor = log.rows->scan(notes_of(log.feed.feed), kv::Direction::kReverse);
  TRY(cursor->status());
  if (!cursor->valid()) return std::nullopt;
  const auto place = place_of_note(cursor->key());
  if (!place) return corrupt_record("note");
  return place;
}

}  // namespace

Result<FollowedLogs> logs_of(const TableShards& shards, const std::string& feed_key) {
  FollowedLogs logs;
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    auto rows = shards[shard].engine.snapshot();
    auto feed = TRY(read_feed(*rows, feed_key));
    if (!feed) return FollowedLogs{};
    logs.push_back({shard, std::move(rows), std::move(*feed)});
  }
  return logs;
}

Result<FollowedLogs> kept_logs_of(const TableShards& shards, const std::string& feed_key) {
  auto logs = TRY(logs_of(shards, feed_key));
  const auto keeps = [&](const ShardLog& log) {
    return log.feed.kept && log.feed.kept->generation == logs.front().feed.kept->generation;
  };
  if (logs.empty() || !std::ranges::all_of(logs, keeps)) return fail(ErrorCode::kFeedNotFound);
  return logs;
}

bool has_follower(const FollowedLogs& logs, const std::string& follower) {
  return !logs.empty() &&
         std::ranges::all_of(logs, [&](const ShardLog& log) { return log.feed.find(follower) != nullptr; });
}

std::unexpected<Error> fail_too_high(const TableShards& shards) {
  if (shards.shared()) return fail(ErrorCode::kServerBusy);
  return fail(ErrorCode::kInvalidInput, "The position is higher than the last version of the store.");
}

Result<std::optional<Version>> first_note_after(const kv::Reader& rows, std::uint64_t feed, Version version) {
  const auto cursor = rows.scan(notes_after(feed, version));
  TRY(cursor->status());
  if (!cursor->valid()) return std::nullopt;
  const auto place = place_of_note(cursor->key());
  if (!place) return corrupt_record("note");
  return place->version;
}

Result<FollowerStatus> status_of(const FollowedLogs& logs, const std::string& name) {
  FollowerStatus status;
  for (const auto& log : logs) {
    const auto& follower = *log.feed.find(name);
    const auto head = TRY(read_head(*log.rows, log.feed.feed));
    status.following = follower.following;
    status.changes_behind += head.changes - follower.changes;
    status.bytes_behind += head.bytes - follower.bytes;
    status.stale = status.stale || follower.stale;
    const auto oldest = follower.stale ? std::optional(follower.position)
                                       : TRY(first_note_after(*log.rows, log.feed.feed, follower.position));
    // In a store of several shards, a follower reports only the shards where it has passed a change.
    const bool at_end = !oldest && logs.size() > 1;
    status.position.shards.push_back(at_end ? TRY(last_version(*log.rows)) : follower.position);
    if (!oldest) continue;
    const auto at = Time(Ticks(*oldest));
    status.oldest = std::min(status.oldest.value_or(at), at);
  }
  return status;
}

FeedPlace begin_of(const FollowedLogs& logs) {
  FeedPlace place{logs.front().feed.kept->generation, {}};
  for (const auto& log : logs) place.logs.push_back(log.feed.kept->begin());
  return place;
}

Result<FeedEnd> end_of(const FollowedLogs& logs) {
  FeedEnd all;
  all.place.generation = logs.front().feed.kept->generation;
  std::uint64_t last_drop = 0;
  for (const auto& log : logs) last_drop = std::max(last_drop, dropped_on(log));
  const bool drops = std::ranges::any_of(logs, [&](const ShardLog& log) { return dropped_on(log) < last_drop; });
  for (const auto& log : logs) {
    const auto drop = drops && dropped_on(log) == last_drop ? TRY(last_note(log)) : std::nullopt;
    const auto last = TRY(last_version(*log.rows));
    const LogPlace end{last + 1, 0};
    all.place.logs.push_back(drop ? LogPlace{drop->version, static_cast<std::uint32_t>(drop->index)} : end);
    all.seen.shards.push_back(last);
  }
  return all;
}

Result<PlaceStatus> status_of(const FollowedLogs& logs, const FeedPlace& place) {
  PlaceStatus all;
  for (const auto& log : logs) {
    const auto& kept = *log.feed.kept;
    const bool of_earlier_feed = place.generation < kept.generation;
    const auto head = TRY(read_head(*log.rows, log.feed.feed));
    const auto at = of_earlier_feed ? LogPlace{} : place.of(log.shard);
    const auto one = TRY(status_of_place(*log.rows, log.feed, head, at));
    all.changes += one.changes;
    all.bytes += one.bytes;
    all.gone = all.gone || one.gone;
    if (one.oldest) all.oldest = std::min(all.oldest.value_or(*one.oldest), *one.oldest);
  }
  return all;
}

}  // namespace tidemark::table_store
