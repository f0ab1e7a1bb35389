// The change feeds of tables (model/feed.h): what is kept of the log for whoever reads it, and reading it.
#include <boost/asio/post.hpp>

#include "common/kv/key_codec.h"
#include "common/process/failures.h"
#include "table_store/model/limits.h"
#include "table_store/storage/feed_rows.h"
#include "table_store/storage/kept_changes.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

constexpr Duration kMaxWait = std::chrono::seconds(5);
constexpr Duration kLetGoEvery = std::chrono::seconds(5);
constexpr std::size_t kNotesInASlice = 64;
constexpr std::size_t kMaxReadBytes = 4 * kMaxReplyBytes;
/// All of a version.
constexpr std::uint32_t kWholeVersion = std::numeric_limits<std::uint32_t>::max() - 1;

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
  if (request.wait < Duration::zero() || request.wait > kMaxWait) {
    return fail(ErrorCode::kInvalidInput, "A wait is 0 to 5 seconds.");
  }
  return {};
}

/// The table's feed; kFeedNotFound.
Result<LoadedFeed> load_kept(const kv::Reader& reader, const std::string& key) {
  auto feed = TRY(load_feed(reader, key));
  if (!feed || !feed->record.kept) return fail(ErrorCode::kFeedNotFound);
  return std::move(*feed);
}

Result<FeedStatus> status_of(const kv::Reader& reader, const LoadedFeed& feed) {
  const auto& kept = *feed.record.kept;
  FeedStatus status;
  status.table = feed.record.table;
  status.feed = kept.feed;
  status.oldest = kept.begin();
  status.end = {kept.generation, TRY(last_version(reader)) + 1, 0};
  status.kept = TRY(status_of_place(reader, feed.record, feed.head, kept.begin()));
  return status;
}

/// A place in the feed where the request may begin.
Result<FeedPlace> begin_of(const FeedRequest& request, const KeptRecord& kept, const FeedPlace& end) {
  if (request.start == FeedStart::kOldest) return kept.begin();
  if (request.start == FeedStart::kNow) return end;
  const auto& place = request.place;
  if (place.generation != kept.generation) {
    return fail(
        ErrorCode::kChangesExpired,
        "This place is of a change feed of the table that has ended. Read the table, and begin anew: after=now, "
        "or after=oldest.");
  }
  if (place < kept.begin()) {
    return fail(ErrorCode::kChangesExpired,
                "Changes after this place are no longer kept. Begin anew: after=oldest for those that are, or read the "
                "table and go on after=now.");
  }
  if (place > end) {
    return fail(ErrorCode::kChangesExpired,
                "This place is later than the table store's last change: the store was set back. Read the table, and "
                "begin anew.");
  }
  return place;
}

class FeedReader {
 public:
  FeedReader(const kv::Reader& snapshot, std::uint64_t feed, const FeedRequest& request, FeedPlace begin, FeedPlace end)
      : request_(request),
        selected_(request.select),
        cursor_(snapshot.scan(notes_from(feed, begin.version, begin.index))),
        end_(std::max(begin, end)) {
    page_.next = begin;
    std::ranges::sort(selected_);
  }

  /// Reads a note; false at the end of the page.
  Result<bool> step() {
    if (!cursor_->valid()) {
      TRY(cursor_->status());
      page_.next = end_;
      return false;
    }
    page_.more =
        page_.changes.size() >= request_.limit || reply_bytes_ >= kMaxReplyBytes || read_bytes_ >= kMaxReadBytes;
    if (page_.more) return false;
    const auto place = place_of_note(cursor_->key());
    if (!place) return corrupt_record("note");
    read_bytes_ += cursor_->value().size();
    TRY(add(*place, TRY(decode_note(cursor_->value()))));
    cursor_->next();
    return true;
  }

  FeedPage finish() { return std::move(page_); }

 private:
  Result<void> add(const NotePlace& place, Note note) {
    auto& change = page_.changes.emplace_back();
    change.kind = kind_of(note);
    change.version = place.version;
    change.index = static_cast<std::uint32_t>(place.index);
    reply_bytes_ += note.partition_key.size() + note.row_key.size();
    change.partition_key = std::move(note.partition_key);
    change.row_key = std::move(note.row_key);
    if (request_.old_values && note.before_version) {
      change.before = TRY(properties_in(note.before));
      change.before_version = *note.before_version;
    }
    if (request_.new_values && note.after) change.after = TRY(properties_in(*note.after));
    page_.next = {page_.next.generation, change.version, change.index + 1};
    return {};
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
  std::unique_ptr<kv::Cursor> cursor_;
  const FeedPlace end_;
  std::size_t reply_bytes_ = 0, read_bytes_ = 0;
  FeedPage page_;
};

}  // namespace

Task<Result<FeedStatus>> TableService::put_feed(std::string account, std::string table, ChangeFeed feed) {
  CO_TRY(check_feed(feed));
  CO_TRY(check_followable());
  const auto key = feed_key(account, table);
  FeedStatus status;
  const TableDirectory::Change change(shards_.catalogue().directory, table_key(account, table));
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto record = read_table(txn, account, table);
        auto loaded = TRY(load_or_begin_feed(txn, key));
        auto& kept = loaded.record.kept;
        // A feed outlives its table.
        if (!record && (!kept || !record.failed_with(ErrorCode::kTableNotFound)))
          return fail(std::move(record.error()));
        if (record) loaded.record.table = std::move(record->name);
        if (!kept) {
          const auto generation = TRY(next_generation(txn));
          kept = {feed, generation, TRY(last_version(txn)), kWholeVersion, loaded.head.changes, loaded.head.bytes};
        }
        kept->feed = feed;
        store_feed(txn, key, loaded);
        status = TRY(status_of(txn, loaded));
        return {};
      },
      &kPutFeedStep));
  co_return status;
}

Task<Result<void>> TableService::drop_feed(std::string account, std::string table) {
  const auto key = feed_key(account, table);
  std::uint64_t number = 0;
  bool ended = false;
  {
    const TableDirectory::Change change(shards_.catalogue().directory, table_key(account, table));
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          auto feed = TRY(load_kept(txn, key));
          number = feed.record.feed;
          feed.record.kept.reset();
          ended = !feed.record.needed();
          store_or_end_feed(txn, key, feed);
          return {};
        },
        &kDropFeedStep));
  }
  forget_notes(key, number, ended, co_await asio::this_coro::executor);
  co_return Result<void>{};
}

Result<FeedStatus> TableService::feed_status(const std::string& account, const std::string& table,
                                             const std::vector<FeedPlace>& places) {
  if (places.size() > kMaxFeedPlaces) return fail(ErrorCode::kInvalidInput);
  const auto snapshot = engine_.snapshot();
  const auto feed = TRY(load_kept(*snapshot, feed_key(account, table)));
  auto status = TRY(status_of(*snapshot, feed));
  for (const auto& place : places) {
    status.places.push_back(TRY(status_of_place(*snapshot, feed.record, feed.head, place)));
  }
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
    const auto feed = TRY(load_feed(*snapshot, std::string(cursor->key())));
    if (!account || !feed) return corrupt_record("feed");
    if (feed->record.kept) all.push_back({std::move(*account), TRY(status_of(*snapshot, *feed))});
  }
  TRY(cursor->status());
  return all;
}

Task<Result<FeedPage>> TableService::changes(std::string account, std::string table, FeedRequest request) {
  CO_TRY(check_request(request));
  const auto key = feed_key(account, table);
  const auto end_of_wait = clock_.monotonic() + request.wait;
  const auto executor = co_await asio::this_coro::executor;
  std::optional<ChangeWaits::Place> waiting;
  for (bool last = request.wait == Duration::zero();;) {
    const auto ticket = waiting ? waiting->ticket() : Signal::Ticket{};
    const auto snapshot = engine_.snapshot();
    const auto feed = CO_TRY(load_kept(*snapshot, key)).record;
    const FeedPlace end{feed.kept->generation, CO_TRY(last_version(*snapshot)) + 1, 0};
    const auto begin = CO_TRY(begin_of(request, *feed.kept, end));
    FeedReader reader(*snapshot, feed.feed, request, begin, end);
    for (std::size_t notes = 1; CO_TRY(reader.step()); ++notes) {
      if (notes % kNotesInASlice == 0) co_await asio::post(executor, asio::use_awaitable);
    }
    auto page = reader.finish();
    if (last || !page.changes.empty()) co_return page;
    // What is to come is after this place, whatever the request began with.
    request.start = FeedStart::kPlace;
    request.place = page.next;
    if (!waiting) {
      auto taken = waits_.take(feed.feed);
      if (taken.failed_with(ErrorCode::kUnavailable)) co_return page;  // the store ends
      waiting.emplace(CO_TRY(std::move(taken)));
    } else {
      const auto left = std::max(Duration::zero(), end_of_wait - clock_.monotonic());
      last = !co_await waiting->wait(ticket, left) || waits_.closed();
    }
  }
}

Task<Result<void>> TableService::let_old_changes_go(std::string feed_key) {
  const auto until = [this](const KeptRecord& kept) {
    return (ages_.now() - std::chrono::seconds(kept.feed.retention_s)).time_since_epoch().count();
  };
  const auto snapshot = engine_.snapshot();
  auto seen = CO_TRY(read_feed(*snapshot, feed_key));
  if (!seen || !seen->kept) co_return Result<void>{};
  if (CO_TRY(let_go_through(*snapshot, seen->feed, *seen->kept, until(*seen->kept)))) {
    CO_TRY(co_await engine_.transact(
        [&](kv::Transaction& txn) -> Result<void> {
          auto feed = TRY(load_feed(txn, feed_key));
          if (!feed || !feed->record.kept) return {};
          auto& kept = *feed->record.kept;
          if (TRY(let_go_through(txn, feed->record.feed, kept, until(kept)))) store_feed(txn, feed_key, *feed);
          return {};
        },
        &kLetGoStep));
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
