// Who follows a table, how far they are, and the end of what none of them needs (model/changes.h).
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/process/failures.h"
#include "table_store/model/limits.h"
#include "table_store/storage/change_notes.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

const FailStep kFollowStep("table.follow");
const FailStep kUnfollowStep("table.unfollow");
const FailStep kAcknowledgeStep("table.acknowledge");
const FailStep kTrimStep("table.trim_log");

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
  return {};
}

/// The follower of this name; a new one, which follows nothing yet, takes its place by name.
Result<FollowerRecord*> find_or_add(FeedRecord& feed, const std::string& name, bool& added) {
  auto* known = feed.find(name);
  added = known == nullptr;
  if (known != nullptr) return known;
  if (feed.followers.size() >= kMaxFollowers) return fail(ErrorCode::kTooManyFollowers);
  const auto place =
      std::ranges::lower_bound(feed.followers, name, {}, [](const auto& one) { return one.following.follower; });
  return &*feed.followers.emplace(place);
}

/// Whether what waits for the follower was noted without all that it asks for now.
bool waits_for_more(const FollowerRecord& known, const HeadRecord& head, const Following& asked) {
  const auto& had = known.following.properties;
  return known.changes < head.changes &&
         !std::ranges::all_of(
             asked.properties, [&](const auto& property) { return std::ranges::find(had, property) != had.end(); });
}

/// The version of the first note after this one.
Result<std::optional<Version>> first_note_after(const kv::Reader& reader, std::uint64_t feed, Version position) {
  const auto cursor = reader.scan(notes_after(feed, position));
  TRY(cursor->status());
  if (!cursor->valid()) return std::nullopt;
  const auto place = place_of_note(cursor->key());
  if (!place) return corrupt_record("note");
  return place->version;
}

Result<FollowerStatus> status_of(const kv::Reader& reader, const LoadedFeed& feed, const FollowerRecord& follower) {
  FollowerStatus status;
  status.following = follower.following;
  status.position = follower.position;
  status.changes_behind = feed.head.changes - follower.changes;
  status.bytes_behind = feed.head.bytes - follower.bytes;
  status.stale = follower.stale;
  const auto oldest = follower.stale ? std::optional(follower.position)
                                     : TRY(first_note_after(reader, feed.record.feed, follower.position));
  if (oldest) status.oldest = Time(Ticks(*oldest));
  return status;
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

}  // namespace

Result<void> TableService::check_followable() const {
  if (!shards_.divided()) return {};
  return fail(ErrorCode::kNotImplemented,
              "Tables are not followed in a table store of several shards: no index, no change feed, and no jobs on "
              "changes. A store of one shard has them: shards=1 for a new data directory.");
}

Task<Result<FollowerStatus>> TableService::follow(std::string account, std::string table, Following following,
                                                  bool anew, std::optional<Version> at) {
  CO_TRY(check_following(following));
  CO_TRY(check_followable());
  const auto key = feed_key(account, table);
  FollowerStatus status;
  std::uint64_t number = 0;
  {
    const TableDirectory::Change change(shards_.catalogue().directory, table_key(account, table));
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          auto record = read_table(txn, account, table);
          auto feed = TRY(load_or_begin_feed(txn, key));
          bool added = false;
          auto& follower = *TRY(find_or_add(feed.record, following.follower, added));
          // A follower outlives its table.
          if (!record && (added || !record.failed_with(ErrorCode::kTableNotFound)))
            return fail(std::move(record.error()));
          if (record) feed.record.table = std::move(record->name);
          const bool lacks = !added && waits_for_more(follower, feed.head, following);
          follower.following = following;
          follower.stale = follower.stale || lacks;
          if (added || (anew && at.value_or(follower.position) == follower.position)) {
            follower = {following, TRY(last_version(txn)), feed.head.changes, feed.head.bytes, false};
          }
          store_feed(txn, key, feed);
          status = TRY(status_of(txn, feed, follower));
          number = feed.record.feed;
          return {};
        },
        &kFollowStep));
  }
  trim_in_background(key, number, co_await asio::this_coro::executor);
  co_return status;
}

Task<Result<void>> TableService::unfollow(std::string account, std::string table, std::string follower) {
  const auto key = feed_key(account, table);
  std::optional<std::uint64_t> changed;
  bool ended = false;
  {
    const TableDirectory::Change change(shards_.catalogue().directory, table_key(account, table));
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          changed.reset();
          ended = false;
          auto feed = TRY(load_feed(txn, key));
          if (!feed || feed->record.find(follower) == nullptr) return {};
          auto& followers = feed->record.followers;
          std::erase_if(followers, [&](const auto& one) { return one.following.follower == follower; });
          changed = feed->record.feed;
          ended = !feed->record.needed();
          store_or_end_feed(txn, key, *feed);
          return {};
        },
        &kUnfollowStep));
  }
  if (!changed) co_return Result<void>{};
  forget_notes(key, *changed, ended, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

void TableService::forget_notes(const std::string& feed_key, std::uint64_t feed, bool ended, const Executor& executor) {
  waits_.changed(feed);
  if (!ended) return trim_in_background(feed_key, feed, executor);
  trims_.forget(feed);
  process::spawn_in_background(executor, "table.collect_garbage", collect_garbage());
}

Result<std::vector<FollowerStatus>> TableService::followers(const std::string& account, const std::string& table) {
  const auto snapshot = engine_.snapshot();
  const auto feed = TRY(load_feed(*snapshot, feed_key(account, table)));
  std::vector<FollowerStatus> all;
  if (!feed) return all;
  for (const auto& follower : feed->record.followers) all.push_back(TRY(status_of(*snapshot, *feed, follower)));
  return all;
}

Result<std::vector<TableService::NamedFollower>> TableService::all_followers(std::size_t most) {
  const auto snapshot = engine_.snapshot();
  std::vector<NamedFollower> all;
  const auto cursor = snapshot->scan(feeds_range());
  for (; cursor->valid() && all.size() < most; cursor->next()) {
    auto key = cursor->key();
    key.remove_prefix(1);
    auto account = kv::take_text(key);
    const auto feed = TRY(load_feed(*snapshot, std::string(cursor->key())));
    if (!account || !feed) return corrupt_record("feed");
    for (const auto& follower : feed->record.followers) {
      all.push_back({*account, feed->record.table, TRY(status_of(*snapshot, *feed, follower))});
    }
  }
  TRY(cursor->status());
  return all;
}

Task<Result<void>> TableService::acknowledge(std::string account, std::string table, std::string follower,
                                             Version position) {
  const auto key = feed_key(account, table);
  std::uint64_t number = 0;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto feed = TRY(load_feed(txn, key));
        auto* known = feed ? feed->record.find(follower) : nullptr;
        if (known == nullptr) return fail(ErrorCode::kFollowerNotFound);
        number = feed->record.feed;
        if (known->stale || position <= known->position) return {};
        if (position > TRY(last_version(txn))) {
          return fail(ErrorCode::kInvalidInput, "The position is higher than the last version of the store.");
        }
        TRY(advance(txn, number, *known, position));
        store_feed(txn, key, *feed);
        return {};
      },
      &kAcknowledgeStep));
  trim_in_background(key, number, co_await asio::this_coro::executor);
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
  const auto snapshot = engine_.snapshot();
  const auto feed = CO_TRY(read_feed(*snapshot, feed_key));
  if (!feed) co_return Result<void>{};
  auto through = CO_TRY(last_version(*snapshot));
  for (const auto& follower : feed->followers) {
    if (!follower.stale) through = std::min(through, follower.position);
  }
  if (feed->kept) through = std::min(through, feed->kept->gone);
  const auto from = trims_.begin(feed->feed, through);
  if (!from) co_return Result<void>{};
  const kv::KeyRange done{note_key(feed->feed, *from + 1, 0), note_key(feed->feed, through + 1, 0)};
  co_return co_await kTrimStep.around(engine_.erase({done}));
}

}  // namespace tidemark::table_store
