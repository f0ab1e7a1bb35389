// The change feeds of tables (model/feed.h): keeps a part of the log for readers, and reads it.
#include <charconv>

#include "common/kv/key_codec.h"
#include "common/process/failures.h"
#include "table_store/model/limits.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/followed_logs.h"
#include "table_store/storage/kept_changes.h"
#include "table_store/storage/log_reading.h"
#include "table_store/storage/table_changes.h"
#include "table_store/storage/table_rows.h"

namespace tidemark::table_store {
namespace {

constexpr Duration kLetGoEvery = std::chrono::seconds(5);
constexpr std::size_t kMaxReadBytes = 4 * kMaxReplyBytes;
const FailStep kPutFeedStep("table.put_feed");
const FailStep kDropFeedStep("table.drop_feed");
const FailStep kLetGoStep("table.let_changes_go");

Result<void> check_feed(const ChangeFeed& feed) {
  if (feed.retention_s < 1 || feed.retention_s > kMostRetention) {
    return fail(ErrorCode::kInvalidInput, "Changes are kept for 1 second to 366 days.");
  }
  if (feed.max_bytes < kLeastFeedBytes || feed.max_bytes > kMostFeedBytes) {
    return fail(ErrorCode::kInvalidInput, "A feed keeps at most 1 MiB to 1 TiB of changes.");
  }
  return {};
}

Result<void> check_request(const FeedRequest& request) {
  if (request.limit == 0 || request.limit > kMaxFeedChanges) {
    return fail(ErrorCode::kInvalidInput, "A page has 1 to 1000 changes.");
  }
  if (request.select.size() > kMaxFeedProperties) {
    return fail(ErrorCode::kInvalidInput, "At most 252 properties are selected.");
  }
  if (request.wait < Duration::zero() || request.wait > kMaxWaitForChanges) {
    return fail(ErrorCode::kInvalidInput, "A wait is 0 to 5 seconds.");
  }
  return {};
}

Result<FeedStatus> status_of_feed(const FollowedLogs& logs) {
  FeedStatus status;
  status.table = logs.front().feed.table;
  status.feed = logs.front().feed.kept->feed;
  status.oldest = begin_of(logs);
  status.end = TRY(end_of(logs)).place;
  status.kept = TRY(status_of(logs, status.oldest));
  return status;
}

/// Returns the place in the feed where the request may begin. `shared`: processes share the shards, and one may have
/// given a place that another does not see yet.
Result<FeedPlace> start_of(const FeedRequest& request, const FollowedLogs& logs, const FeedPlace& end, bool shared) {
  auto oldest = begin_of(logs);
  if (request.start == FeedStart::kOldest) return oldest;
  if (request.start == FeedStart::kNow) return end;
  const auto& place = request.place;
  if (place.generation != oldest.generation || place.logs.size() != logs.size()) {
    return fail(
        ErrorCode::kChangesExpired,
        "This place is of a change feed of the table that has ended. Read the table, and begin anew: after=now, "
        "or after=oldest.");
  }
  for (std::size_t shard = 0; shard < logs.size(); ++shard) {
    if (place.logs[shard] < oldest.logs[shard]) {
      return fail(ErrorCode::kChangesExpired,
                  "Changes after this place are no longer kept. Begin anew: after=oldest for those that are, or read "
                  "the table and go on after=now.");
    }
    if (place.logs[shard] > end.logs[shard] && shared) return fail(ErrorCode::kServerBusy);
    if (place.logs[shard] > end.logs[shard]) {
      return fail(ErrorCode::kChangesExpired,
                  "This place is later than the table store's last change: the store was set back. Read the table, and "
                  "begin anew.");
    }
  }
  return place;
}

/// Reads the logs of all shards in the order of their versions. A drop of the table is a note in each log: a lane that
/// reaches it first waits there for the others, so that all changes of the dropped table come before the drop, and all
/// changes of the next table of that name after it.
class FeedReader {
 public:
  FeedReader(const FollowedLogs& logs, const FeedRequest& request, FeedPlace begin, FeedPlace end)
      : request_(request), selected_(request.select), end_(std::move(end)) {
    for (const auto& log : logs) {
      const auto from = begin.logs[log.shard];
      lanes_.push_back({&log.feed, {log.rows->scan(notes_from(log.feed.feed, from.version, from.index))}});
    }
    page_.begin = page_.next = std::move(begin);
    std::ranges::sort(selected_);
  }

  Result<void> open() {
    for (auto& lane : lanes_) TRY(look(lane));
    return {};
  }

  /// Reads a note; returns false at the end of the page.
  Result<bool> step() {
    auto* lane = first_lane(lanes_, [](const Lane& each) { return each.drop == 0; });
    const bool drops = lane == nullptr && find_drop();
    if (lane == nullptr && !drops) {
      end_lanes();
      return false;
    }
    page_.more =
        page_.changes.size() >= request_.limit || reply_bytes_ >= kMaxReplyBytes || read_bytes_ >= kMaxReadBytes;
    if (page_.more) {
      end_lanes();
      return false;
    }
    if (drops) {
      TRY(add_drop());
    } else {
      TRY(add(*lane));
    }
    return true;
  }

  FeedPage finish() { return std::move(page_); }

 private:
  /// A shard's log.
  struct Lane {
    const FeedRecord* feed = nullptr;
    LogCursor log;
    std::uint64_t drop = 0;  // the next note is of this drop, in a divided store
  };

  Result<void> look(Lane& lane) {
    lane.drop = 0;
    TRY(lane.log.look());
    if (!lane.log.next || !lane.feed->division || !is_of_drop(lane.log.cursor->value())) return {};
    const auto which = TRY(decode_note(lane.log.cursor->value())).row_key;
    std::from_chars(which.data(), which.data() + which.size(), lane.drop);
    return lane.drop != 0 ? Result<void>{} : corrupt_record("note");
  }

  /// Finds the first drop of which every shard has its note. All lanes wait for a drop or are at their ends.
  bool find_drop() {
    drop_ = 0;
    for (const auto& lane : lanes_) {
      if (lane.drop != 0 && (drop_ == 0 || lane.drop < drop_)) drop_ = lane.drop;
    }
    return drop_ != 0 && std::ranges::all_of(lanes_, [&](const Lane& lane) {
             return lane.drop != 0 || lane.feed->division->dropped >= drop_;
           });
  }

  std::uint32_t shard_of(const Lane& lane) const { return static_cast<std::uint32_t>(&lane - lanes_.data()); }

  Result<void> add_drop() {
    std::optional<Change> drop;
    for (auto& lane : lanes_) {
      if (lane.drop != drop_) continue;
      const auto index = static_cast<std::uint32_t>(lane.log.next->index);
      if (drop) {
        drop->elsewhere.push_back({shard_of(lane), {lane.log.next->version, index + 1}});
      } else {
        drop.emplace();
        drop->kind = ChangeKind::kDrop;
        drop->version = lane.log.next->version;
        drop->index = index;
        drop->shard = shard_of(lane);
      }
      read_bytes_ += lane.log.cursor->value().size();
      lane.log.cursor->next();
      TRY(look(lane));
    }
    pass(page_.next, *drop);
    page_.changes.push_back(std::move(*drop));
    return {};
  }

  Result<void> add(Lane& lane) {
    read_bytes_ += lane.log.cursor->value().size();
    auto note = TRY(decode_note(lane.log.cursor->value()));
    auto& change = page_.changes.emplace_back();
    change.kind = kind_of(note);
    change.version = lane.log.next->version;
    change.index = static_cast<std::uint32_t>(lane.log.next->index);
    change.shard = shard_of(lane);
    reply_bytes_ += note.partition_key.size() + note.row_key.size();
    change.partition_key = std::move(note.partition_key);
    change.row_key = std::move(note.row_key);
    change.cause = std::move(note.cause);
    if (request_.old_values && note.before_version) {
      change.before = TRY(properties_in(note.before));
      change.before_version = *note.before_version;
    }
    if (request_.new_values && note.after) change.after = TRY(properties_in(*note.after));
    pass(page_.next, change);
    lane.log.cursor->next();
    return look(lane);
  }

  /// Moves the next place to the end in the logs that have been read completely.
  void end_lanes() {
    for (auto& lane : lanes_) {
      auto& next = page_.next.logs[shard_of(lane)];
      if (!lane.log.next) next = std::max(next, end_.logs[shard_of(lane)]);
    }
  }

  static ChangeKind kind_of(const Note& note) {
    switch (note.kind) {
      case NoteKind::kErased:
        return ChangeKind::kDelete;
      case NoteKind::kDropped:
        return ChangeKind::kDrop;
      case NoteKind::kCreated:
        return ChangeKind::kCreate;
      case NoteKind::kMerged:
        return note.was_there ? ChangeKind::kMerge : ChangeKind::kInsert;
      case NoteKind::kPut:
        break;
    }
    return note.was_there ? ChangeKind::kReplace : ChangeKind::kInsert;
  }

  Result<std::vector<Property>> properties_in(std::string_view block) {
    std::vector<Property> out;
    PropertyReader reader(block);
    for (auto left = reader.rest(); reader.next(); left = reader.rest()) {
      if (!selected_.empty() && !std::ranges::binary_search(selected_, reader.name())) continue;
      reply_bytes_ += left.size() - reader.rest().size();
      out.push_back({std::string(reader.name()), value_of(reader.value())});
    }
    return out;
  }

  const FeedRequest& request_;
  std::vector<std::string> selected_;
  const FeedPlace end_;
  std::vector<Lane> lanes_;
  std::uint64_t drop_ = 0;
  std::size_t reply_bytes_ = 0, read_bytes_ = 0;
  FeedPage page_;
};

Task<Result<ReadPage<FeedPage>>> read_page(FollowedLogs logs, const FeedRequest& request, bool shared) {
  const auto [end, seen] = CO_TRY(end_of(logs));
  FeedReader reader(logs, request, CO_TRY(start_of(request, logs, end, shared)), end);
  CO_TRY(reader.open());
  CO_TRY(co_await read_in_slices(reader));
  ReadPage<FeedPage> got{reader.finish()};
  got.says_anything = !got.page.changes.empty();
  got.feed = logs.front().feed.feed;
  got.seen = seen;
  co_return got;
}

}  // namespace

Task<Result<FeedStatus>> TableService::put_feed(std::string account, std::string table, ChangeFeed feed) {
  CO_TRY(check_feed(feed));
  const auto key = feed_key(account, table);
  const auto now = clock_.now().time_since_epoch().count();
  const auto begin = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
    auto record = read_table(txn, account, table);
    const auto known = TRY(read_feed(txn, key));
    const bool kept = known && known->kept;
    // A feed outlives its table.
    if (!record && (!kept || !record.failed_with(ErrorCode::kTableNotFound))) return fail(std::move(record.error()));
    auto name = record ? record->name : known->table;
    if (kept && known->kept->feed == feed && known->table == name) return std::nullopt;
    TableChange change{.kind = TableChangeKind::kPutFeed, .now = now, .table = std::move(name), .kept = feed};
    change.feed = known ? known->feed : TRY(next_generation(txn));
    if (!kept) change.generation = TRY(next_generation(txn));
    return TRY(declare(txn, account, std::move(change)));
  };
  for (;;) {
    CO_TRY(co_await shards_.copies().change(account, to_lower_ascii(table), begin, &kPutFeedStep));
    const auto logs = kept_logs_of(shards_, key);
    if (logs) co_return status_of_feed(*logs);
    // Otherwise the feed has been dropped since.
    if (!logs.failed_with(ErrorCode::kFeedNotFound)) co_return fail(logs.error());
  }
}

Task<Result<void>> TableService::drop_feed(std::string account, std::string table) {
  const auto key = feed_key(account, table);
  const auto now = clock_.now().time_since_epoch().count();
  std::uint64_t number = 0;
  bool ended = false;
  const auto begin = [&](kv::Transaction& txn) -> Result<std::optional<CopiedTables::Change>> {
    const auto feed = TRY(read_feed(txn, key));
    if (!feed || !feed->kept) return fail(ErrorCode::kFeedNotFound);
    number = feed->feed;
    ended = feed->followers.empty();
    return TRY(declare(txn, account, {.kind = TableChangeKind::kDropFeed, .now = now, .table = table}));
  };
  CO_TRY(co_await shards_.copies().change(account, to_lower_ascii(table), begin, &kDropFeedStep));
  forget_notes(key, number, ended, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

Result<FeedStatus> TableService::feed_status(const std::string& account, const std::string& table,
                                             const std::vector<FeedPlace>& places) {
  if (places.size() > kMaxFeedPlaces) return fail(ErrorCode::kInvalidInput);
  const auto logs = TRY(kept_logs_of(shards_, feed_key(account, table)));
  auto status = TRY(status_of_feed(logs));
  for (const auto& place : places) status.places.push_back(TRY(status_of(logs, place)));
  return status;
}

Result<std::vector<TableService::NamedFeed>> TableService::all_feeds(std::size_t most) {
  const auto snapshot = engine_.snapshot();
  std::vector<NamedFeed> all;
  const auto cursor = snapshot->scan(feeds_range());
  for (; cursor->valid() && all.size() < most; cursor->next()) {
    auto key = cursor->key();
    key.remove_prefix(1);
    auto account = kv::take_text(key);
    if (!account) return corrupt_record("feed");
    auto logs = kept_logs_of(shards_, std::string(cursor->key()));
    if (logs.failed_with(ErrorCode::kFeedNotFound)) continue;
    all.push_back({std::move(*account), TRY(status_of_feed(TRY(std::move(logs))))});
  }
  TRY(cursor->status());
  return all;
}

Task<Result<FeedPage>> TableService::changes(std::string account, std::string table, FeedRequest request) {
  CO_TRY(check_request(request));
  const auto key = feed_key(account, table);
  const auto read = [&]() -> Task<Result<ReadPage<FeedPage>>> {
    auto got = CO_TRY(co_await read_page(CO_TRY(kept_logs_of(shards_, key)), request, shards_.shared()));
    // Later changes come after this place, wherever the request began.
    request.start = FeedStart::kPlace;
    request.place = got.page.next;
    co_return got;
  };
  co_return co_await await_page<FeedPage>(request.wait, read);
}

Task<Result<void>> TableService::let_old_changes_go_on(std::size_t shard, const std::string& feed_key) {
  const auto until = [now = ages_.now()](const KeptRecord& kept) {
    return (now - std::chrono::seconds(kept.feed.retention_s)).time_since_epoch().count();
  };
  auto& engine = shards_[shard].engine;
  const auto snapshot = engine.snapshot();
  auto seen = CO_TRY(read_feed(*snapshot, feed_key));
  if (!seen || !seen->kept) co_return Result<void>{};
  if (!CO_TRY(let_go_through(*snapshot, seen->feed, *seen->kept, until(*seen->kept)))) co_return Result<void>{};
  co_return co_await engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto feed = TRY(load_feed(txn, feed_key));
        if (!feed || !feed->record.kept) return {};
        auto& kept = *feed->record.kept;
        if (TRY(let_go_through(txn, feed->record.feed, kept, until(kept)))) store_feed(txn, feed_key, *feed);
        return {};
      },
      &kLetGoStep);
}

Task<Result<void>> TableService::let_old_changes_go(std::string feed_key) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard) {
    if (!shards_.here(shard)) continue;
    const auto done = co_await let_old_changes_go_on(shard, feed_key);
    if (!done && shards_.here(shard)) co_return done;
  }
  co_return co_await trim_log(std::move(feed_key));
}

Task<Result<void>> TableService::let_changes_go() {
  for (;;) {
    const auto ticket = closing_.ticket();
    if (waits_.closed()) co_return Result<void>{};
    std::vector<std::string> feeds;
    {
      const auto snapshot = engine_.snapshot();
      const auto cursor = snapshot->scan(feeds_range());
      for (; cursor->valid(); cursor->next()) feeds.emplace_back(cursor->key());
    }
    for (auto& feed : feeds) {
      const auto done = co_await let_old_changes_go(std::move(feed));
      if (!done) process::log_failed_task("table.let_changes_go", done.error());
    }
    co_await closing_.wait(ticket, clock_, kLetGoEvery);
  }
}

}  // namespace tidemark::table_store
