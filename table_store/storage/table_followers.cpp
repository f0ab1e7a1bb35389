// The followers of tables, their progress, and the removal of notes that none of them needs (model/changes.h).
#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "common/base/text.h"
#include "common/process/failures.h"
#include "table_store/model/limits.h"
#include "table_store/storage/change_notes.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/followed_logs.h"
#include "table_store/storage/served_calls.h"
#include "table_store/storage/table_changes.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

const FailStep kFollowStep("table.follow");
const FailStep kUnfollowStep("table.unfollow");
const FailStep kAcknowledgeStep("table.acknowledge");
const FailStep kTrimStep("table.trim_log");

Result<void> check_lists(const EntityLists& lists) {
  if (lists.by.empty() || lists.by.size() > kMaxListProperties || lists.index.empty()) {
    return fail(ErrorCode::kInvalidInput, "Lists have a name and list entities by 1 to 4 properties.");
  }
  TRY(check_table_name(lists.table));
  TRY(Filter::parse(lists.filter));
  std::size_t bytes = 0;
  for (const auto& name : lists.by) bytes += name.size();
  for (const auto* text : {&lists.index, &lists.row_prefix, &lists.group, &lists.keys, &lists.progress.table,
                           &lists.progress.partition_key, &lists.progress.row_key, &lists.state, &lists.complete}) {
    bytes += text->size();
  }
  if (bytes > kMaxListTexts) return fail(ErrorCode::kInvalidInput, "The names of lists are too long.");
  return {};
}

Result<void> check_following(const Following& following) {
  const auto& name = following.follower;
  if (name.empty() || name.size() > kMaxFollowerNameBytes || !is_valid_utf8(name)) {
    return fail(ErrorCode::kInvalidInput, "A follower has a name of 1 to 256 bytes.");
  }
  if (following.properties.size() > kMaxFollowedProperties) {
    return fail(ErrorCode::kInvalidInput, "A follower follows at most 128 properties.");
  }
  for (const auto& property : following.properties) {
    if (property.empty() || !is_valid_utf8(property) || utf16_length(property) > kMaxPropertyNameUnits) {
      return fail(ErrorCode::kInvalidInput, "A followed property has a name of 1 to 255 characters.");
    }
  }
  if (following.max_changes == 0 || following.max_bytes == 0) {
    return fail(ErrorCode::kInvalidInput, "At least one change and one byte may wait for a follower.");
  }
  if (following.own_rows && following.own_rows->properties.size() > kMaxFollowedProperties) {
    return fail(ErrorCode::kInvalidInput, "A follower's rows in the table have at most 128 properties.");
  }
  if (following.lists) TRY(check_lists(*following.lists));
  return {};
}

/// Moves the follower to a later position.
Result<void> advance(const kv::Reader& reader, std::uint64_t feed, FollowerRecord& follower, Version position) {
  const kv::KeyRange passed{note_key(feed, follower.position + 1, 0), note_key(feed, position + 1, 0)};
  const auto cursor = reader.scan(passed, kv::Direction::kReverse);
  TRY(cursor->status());
  if (cursor->valid()) {
    const auto last = TRY(decode_note(cursor->value()));
    follower.changes = last.changes;
    follower.bytes = last.bytes;
  }
  follower.position = position;
  return {};
}

/// The message of a process to the one that serves a shard.
/// Tells whether the follower has not begun anew since it had this position. For a shard where nothing waits, a status
/// shows a higher version than the follower has acknowledged.
bool is_at(const FollowedLogs& logs, const std::string& follower, const std::optional<Position>& at) {
  if (!at || !has_follower(logs, follower)) return true;
  return std::ranges::all_of(logs, [&](const ShardLog& log) {
    const auto position = log.feed.find(follower)->position;
    return logs.size() == 1 ? position == at->of(0) : position <= at->of(log.shard);
  });
}

/// Tells whether the catalogue's record has not changed since it was seen, except for other followers' progress.
bool is_seen(const FollowedLogs& logs, const std::string& follower, const FeedRecord& feed) {
  if (!has_follower(logs, follower)) return false;
  const auto& seen = logs.front().feed;
  if (feed.division) return seen.division && seen.division->change == feed.division->change;
  return seen.find(follower)->position == feed.find(follower)->position;
}

}  // namespace

/// Copies of the table stay as they are when followers change.
Result<CopiedTables::Change> TableService::declare(kv::Transaction& txn, std::string_view account,
                                                   TableChange change) const {
  change.shards = shards_.size();
  CopiedTables::Change out;
  if (shards_.divided()) {
    const bool drops = change.kind == TableChangeKind::kDrop;
    auto copy = drops ? std::nullopt : TRY(shards_.copy_of(txn, account, change.table));
    if (copy) out.payload = std::move(copy->payload);
    out.version = TRY(next_generation(txn));
  }
  out.what = encode_table_change(change);
  return out;
}

Task<Result<FollowerStatus>> TableService::follow(std::string account, std::string table, Following following,
                                                  bool anew, std::optional<Position> at, std::optional<Fence> fence) {
  CO_TRY(check_following(following));
  if (fence) CO_TRY(check_operation_id(fence->operation_id));
  const auto key = feed_key(account, table);
  const auto now = clock_.now().time_since_epoch().count();
  for (;;) {
    const auto logs = CO_TRY(logs_of(shards_, key));
    std::uint64_t number = 0;
    bool seen = false;
    const bool renews = anew && is_at(logs, following.follower, at);
    const auto begin = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
      auto record = read_table(txn, account, table);
      const auto feed = TRY(read_feed(txn, key));
      const auto* known = feed ? feed->find(following.follower) : nullptr;
      // If not, the followers have been changed meanwhile, and the positions may differ.
      seen = !at || known == nullptr || is_seen(logs, following.follower, *feed);
      if (!seen) return std::nullopt;
      // A follower outlives its table.
      if (!record && (known == nullptr || !record.failed_with(ErrorCode::kTableNotFound)))
        return fail(std::move(record.error()));
      if (known == nullptr && feed && feed->followers.size() >= kMaxFollowers)
        return fail(ErrorCode::kTooManyFollowers);
      number = feed ? feed->feed : TRY(next_generation(txn));
      auto name = record ? record->name : feed->table;
      if (known != nullptr && !renews && known->following == following && feed->table == name) return std::nullopt;
      TableChange change{.kind = TableChangeKind::kFollow, .now = now, .feed = number, .table = std::move(name)};
      change.following = following;
      change.anew = renews;
      return TRY(declare(txn, account, std::move(change)));
    };
    CO_TRY(co_await change_table(account, table, fence, begin, &kFollowStep));
    if (!seen) continue;
    trim_in_background(key, number, co_await asio::this_coro::executor);
    const auto followed = CO_TRY(logs_of(shards_, key));
    if (has_follower(followed, following.follower)) co_return status_of(followed, following.follower);
    // The follower has been removed since.
  }
}

Task<Result<void>> TableService::unfollow(std::string account, std::string table, std::string follower) {
  const auto key = feed_key(account, table);
  const auto now = clock_.now().time_since_epoch().count();
  std::uint64_t number = 0;
  bool ended = false;
  const auto begin = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
    const auto feed = TRY(read_feed(txn, key));
    if (!feed || feed->find(follower) == nullptr) return std::nullopt;
    number = feed->feed;
    ended = !feed->kept && feed->followers.size() == 1;
    TableChange change{.kind = TableChangeKind::kUnfollow, .now = now, .table = table};
    change.following.follower = follower;
    return TRY(declare(txn, account, std::move(change)));
  };
  if (!CO_TRY(co_await shards_.copies().change(account, to_lower_ascii(table), begin, &kUnfollowStep)))
    co_return Result<void>{};
  forget_notes(key, number, ended, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

void TableService::forget_notes(const std::string& feed_key, std::uint64_t feed, bool ended, const Executor& executor) {
  waits_.changed(feed);
  if (!ended) return trim_in_background(feed_key, feed, executor);
  trims_.forget(feed);
  process::spawn_in_background(executor, "table.collect_garbage", collect_garbage());
}

Result<std::vector<FollowerStatus>> TableService::followers(const std::string& account, const std::string& table) {
  const auto logs = TRY(logs_of(shards_, feed_key(account, table)));
  std::vector<FollowerStatus> all;
  if (logs.empty()) return all;
  for (const auto& follower : logs.front().feed.followers) {
    const auto& name = follower.following.follower;
    if (has_follower(logs, name)) all.push_back(TRY(status_of(logs, name)));
  }
  return all;
}

Result<std::vector<TableService::NamedFollower>> TableService::all_followers(std::size_t most) {
  const auto snapshot = engine_.snapshot();
  std::vector<NamedFollower> all;
  const auto cursor = snapshot->scan(feeds_range());
  for (; cursor->valid() && all.size() < most; cursor->next()) {
    auto key = cursor->key();
    key.remove_prefix(1);
    const auto account = kv::take_text(key);
    if (!account) return corrupt_record("feed");
    const auto feed = TRY(kFeedRecord.decode(cursor->value()));
    for (auto& status : TRY(followers(*account, feed.table))) {
      all.push_back({*account, feed.table, std::move(status)});
    }
  }
  TRY(cursor->status());
  return all;
}

Result<TablePage> TableService::followed_tables(const std::string& account, const std::string& from) {
  const auto snapshot = engine_.snapshot();
  TablePage page;
  const auto cursor = snapshot->scan(feeds_range(account, from));
  for (; cursor->valid() && !page.next; cursor->next()) {
    auto feed = TRY(kFeedRecord.decode(cursor->value()));
    if (feed.followers.empty()) continue;
    if (page.names.size() == kMaxPageEntities) {
      page.next = std::move(feed.table);
    } else {
      page.names.push_back(std::move(feed.table));
    }
  }
  TRY(cursor->status());
  return page;
}

/// In a store of several shards, acknowledges only on shards where the follower has passed changes; on the others there
/// is nothing to do.
Task<Result<void>> TableService::acknowledge(std::string account, std::string table, std::string follower,
                                             Position position) {
  const auto key = feed_key(account, table);
  const auto logs = CO_TRY(logs_of(shards_, key));
  if (!has_follower(logs, follower)) co_return fail(ErrorCode::kFollowerNotFound);
  if (position.shards.size() > logs.size()) co_return fail_too_high(shards_);
  std::vector<std::size_t> passed;
  for (const auto& log : logs) {
    if (shards_.divided()) {
      const auto at = position.of(log.shard);
      if (at > CO_TRY(last_version(*log.rows))) co_return fail_too_high(shards_);
      const auto first = CO_TRY(first_note_after(*log.rows, log.feed.feed, log.feed.find(follower)->position));
      if (!first || *first > at) continue;
    }
    passed.push_back(log.shard);
  }
  const Step tell = [&](std::size_t number) -> Task<Result<void>> {
    const auto shard = passed[number];
    const auto at = position.of(shard);
    co_return co_await call(calls::AcknowledgeOn{shard, key, follower, at});
  };
  CO_TRY(co_await side_by_side(clock_, passed.size(), tell, passed.size()));
  trim_in_background(key, logs.front().feed.feed, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

Task<Result<void>> TableService::acknowledge_on(std::uint64_t shard, std::string feed_key, std::string follower,
                                                Version position) {
  std::uint64_t number = 0;
  CO_TRY(co_await shards_[shard].engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto feed = TRY(load_feed(txn, feed_key));
        auto* known = feed ? feed->record.find(follower) : nullptr;
        if (known == nullptr) return fail(ErrorCode::kFollowerNotFound);
        number = feed->record.feed;
        if (known->stale || position <= known->position) return {};
        if (position > TRY(last_version(txn))) return fail_too_high(shards_);
        TRY(advance(txn, number, *known, position));
        store_feed(txn, feed_key, *feed);
        return {};
      },
      &kAcknowledgeStep));
  trim_in_background(feed_key, number, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

void TableService::announce(const NotedFeeds& feeds, const Executor& executor) {
  for (const auto& capture : feeds.noted) waits_.changed(capture->feed);
  for (const auto& capture : feeds.staled) trim_in_background(capture->feed_key, capture->feed, executor);
}

void TableService::trim_in_background(const std::string& feed_key, std::uint64_t feed, const Executor& executor) {
  if (trims_.claim(feed)) process::spawn_in_background(executor, "table.trim_log", trim_log(feed_key));
}

Task<Result<void>> TableService::trim_log(std::string feed_key) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    if (!shards_.here(shard)) continue;
    const auto snapshot = shards_[shard].engine.snapshot();
    const auto feed = CO_TRY(read_feed(*snapshot, feed_key));
    if (!feed) continue;
    auto through = CO_TRY(last_version(*snapshot));
    for (const auto& follower : feed->followers) {
      if (!follower.stale) through = std::min(through, follower.position);
    }
    if (feed->kept) through = std::min(through, feed->kept->gone);
    const auto from = trims_.begin(feed->feed, shard, through);
    if (!from) continue;
    const kv::KeyRange done{note_key(feed->feed, *from + 1, 0), note_key(feed->feed, through + 1, 0)};
    auto erased = co_await kTrimStep.around(shards_[shard].engine.erase({done}));
    if (erased) continue;
    trims_.failed(feed->feed, shard, *from);
    if (shards_.here(shard)) co_return erased;
  }
  co_return Result<void>{};
}

}  // namespace tidemark::table_store
