// Pages of changes for followers (model/changes.h): the logs after a position, joined with the entities as they are
// now. Each shard is read from one snapshot, in slices, between which the thread is given away.
#include <boost/unordered/unordered_flat_set.hpp>
#include <unordered_map>

#include "common/rpc/wire.h"
#include "table_store/model/limits.h"
#include "table_store/storage/followed_logs.h"
#include "table_store/storage/log_reading.h"
#include "table_store/storage/query_plan.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

constexpr Duration kBetweenLooks = std::chrono::seconds(1);  // at changes of other processes
// The limits of a page: its changes, however few entities they concern; its bytes; and the bytes of entities read for
// it.
constexpr std::uint64_t kMostNotesOfAPage = 100'000;
static_assert(kMostNotesOfAPage <= wire::kMaxItems);
constexpr std::size_t kMostBytesOfAPage = 3 * kMaxReplyBytes;
constexpr std::size_t kMostBytesRead = 4 * kMostBytesOfAPage;
// The limit including all entities that were read together for its end. Text may take three bytes where it counts as
// two.
constexpr std::size_t kMostBytesInTheEnd = 5 * kMaxReplyBytes;
constexpr std::size_t kLargestEntity = kMaxEntityBytes * 3 / 2;
// The size of an entity in a page, beside its keys, which are there twice, and its values.
constexpr std::size_t kBytesAroundEntity = 64;

/// An entity of the page whose bytes have not been read yet.
struct Unread {
  std::size_t place;
  std::string key;
};

/// A shard's log and entities, and how far they have been read for a page.
struct Lane {
  const kv::Reader& rows;
  std::shared_ptr<const Capture> capture;
  std::optional<std::uint64_t> generation = {};  // nothing if the table does not exist
  Version as_of = 0;
  Version after = 0;       // where the page begins
  std::uint32_t skip = 0;  // notes of the first transaction after it
  LogCursor log = {};
  Version version = 0;  // of the transaction that was begun last
  Version through = 0;  // of the transaction before it
  std::uint32_t read_of_version = 0;
  bool dropped = false;  // with this transaction; the page reads no more of this log
  std::vector<Unread> unread = {};

  Result<void> open() {
    log.cursor = rows.scan(notes_after(capture->feed, after));
    version = after;
    return log.look();
  }
  [[nodiscard]] bool within_transaction() const { return log.next && version != after && log.next->version == version; }
};

std::vector<Property> properties_in(std::string_view block) {
  std::vector<Property> out;
  PropertyReader reader(block);
  while (reader.next()) out.push_back({std::string(reader.name()), value_of(reader.value())});
  return out;
}

class PageReader {
 public:
  PageReader(std::vector<Lane> lanes, std::uint32_t limit, const Selection& selection)
      : lanes_(std::move(lanes)), limit_(limit), selection_(selection) {}

  Result<void> open() {
    for (auto& lane : lanes_) TRY(lane.open());
    return {};
  }

  /// Reads a note; returns false at the end of the page.
  Result<bool> step() {
    if (lane_ == nullptr || !lane_->within_transaction()) lane_ = next_lane();
    if (unread_ >= most_read_together()) TRY(read_entities());
    if (lane_ == nullptr || !goes_on(*lane_)) {
      TRY(read_entities());
      end();
      return false;
    }
    ++lane_->read_of_version;
    if (lane_->read_of_version > lane_->skip) {
      const auto& cursor = *lane_->log.cursor;
      page_.bytes += cursor.key().size() + cursor.value().size();
      TRY(add(*lane_, TRY(decode_note(cursor.value()))));
    }
    lane_->log.cursor->next();
    TRY(lane_->log.look());
    return true;
  }

  /// Returns the page without the data that only the reading needed.
  ChangesPage finish() {
    std::vector<std::size_t> order(places_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [this](std::size_t i) { return last_changes_[i]; });
    std::vector<ChangedEntity> entities;
    entities.reserve(order.size());
    for (const auto i : order) entities.push_back(std::move(page_.entities[i]));
    page_.entities = std::move(entities);
    return std::move(page_);
  }

 private:
  /// Returns the lane whose next transaction has the lowest version, but first the one whose transaction began in
  /// earlier pages; null if there is none.
  Lane* next_lane() {
    const auto begun = [](const Lane& lane) {
      return lane.log.next && !lane.dropped && lane.skip > 0 && lane.version == lane.after;
    };
    const auto found = std::ranges::find_if(lanes_, begun);
    return found != lanes_.end() ? &*found : first_lane(lanes_, [](const Lane& lane) { return !lane.dropped; });
  }

  /// Tells whether the lane's next note belongs to the page.
  bool goes_on(Lane& lane) {
    const bool full = bytes_ >= kMostBytesOfAPage || bytes_read_ >= kMostBytesRead;
    if (lane.within_transaction()) {
      if (full) page_.skip = {static_cast<std::uint32_t>(&lane - lanes_.data()), lane.read_of_version};
      return !full;
    }
    if (full || places_.size() >= limit_ || page_.changes >= kMostNotesOfAPage) return false;
    if (lane.version != lane.after) lane.skip = 0;
    lane.through = lane.version;
    lane.version = lane.log.next->version;
    lane.read_of_version = 0;
    return true;
  }

  /// Sets the end of the page to where each lane has come.
  void end() {
    for (auto& lane : lanes_) {
      page_.more = page_.more || lane.log.next;
      const auto whole = lane.within_transaction() ? lane.through : lane.version;
      page_.through.shards.push_back(lane.log.next ? whole : lane.as_of);
      page_.as_of.shards.push_back(lane.as_of);
    }
  }

  Result<void> add(Lane& lane, Note note) {
    ++page_.changes;
    if (note.kind == NoteKind::kDropped) {
      page_.dropped = lane.version;
      lane.dropped = true;
      return {};
    }
    if (note.kind == NoteKind::kCreated) return {};
    if (note.before_version) {
      auto chosen = chosen_properties(note.before, lane.capture->properties);
      if (!chosen) return corrupt_record("note");
      note.before = std::move(*chosen);
    }
    auto key = encode_entity_key(note.partition_key, note.row_key);
    const auto [found, is_new] = places_.try_emplace(std::move(key), places_.size());
    const auto place = found->second;
    if (is_new) {
      bytes_ += 2 * (note.partition_key.size() + note.row_key.size()) + kBytesAroundEntity;
      auto& entity = page_.entities.emplace_back();
      entity.partition_key = std::move(note.partition_key);
      entity.row_key = std::move(note.row_key);
      last_changes_.push_back(0);
      if (lane.generation) {
        lane.unread.push_back({place, entity_prefix(*lane.generation) + found->first});
        ++unread_;
      }
    }
    last_changes_[place] = page_.changes;
    if (!note.was_there) {
      page_.entities[place].appeared = true;
      return {};
    }
    const auto [before, is_other] = blocks_.emplace(place, std::move(note.before));
    if (!is_other) return {};
    bytes_ += before->second.size();
    page_.entities[place].before.push_back(properties_in(before->second));
    return {};
  }

  [[nodiscard]] std::size_t most_read_together() const {
    return (kMostBytesInTheEnd - std::min(bytes_, kMostBytesInTheEnd)) / kLargestEntity;
  }

  /// Reads the present entities that the latest notes name. They are read together, because if another process serves
  /// the shard, each reading is a question to the database.
  Result<void> read_entities() {
    for (auto& lane : lanes_) {
      if (lane.unread.empty()) continue;
      std::vector<std::string> keys;
      for (auto& each : lane.unread) keys.push_back(std::move(each.key));
      TRY(lane.rows.get_all(keys, [&](std::size_t i, std::optional<std::string_view> stored) -> Result<void> {
        return stored ? know(*lane.capture, page_.entities[lane.unread[i].place], *stored) : Result<void>();
      }));
      lane.unread.clear();
    }
    unread_ = 0;
    return {};
  }

  Result<void> know(const Capture& capture, ChangedEntity& entity, std::string_view stored) {
    auto view = TRY(view_entity(stored));
    if (capture.made(view.origin)) return {};
    if (!is_property_block(view.block)) return corrupt_record("entity");
    view.partition_key = entity.partition_key;
    view.row_key = entity.row_key;
    entity.now = view.to_entity(selection_);
    bytes_ += properties_bytes(entity.now->properties);
    bytes_read_ += stored.size();
    return {};
  }

  std::vector<Lane> lanes_;
  Lane* lane_ = nullptr;  // the one that was read last
  const std::uint32_t limit_;
  const Selection& selection_;  // of the present entities
  std::size_t bytes_ = 0;
  std::size_t bytes_read_ = 0;
  ChangesPage page_;
  // For each entity of the page: its place there, and the number of its last change.
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::uint64_t> last_changes_;
  std::size_t unread_ = 0;                                                 // in all lanes
  boost::unordered_flat_set<std::pair<std::size_t, std::string>> blocks_;  // the blocks of all `before`, by place
};

/// A table's logs as the snapshots show them, for one of its followers.
struct FeedView {
  FollowedLogs logs;
  std::vector<Lane> lanes;  // from the follower's position on
  bool stale = false;
};

Result<FeedView> view_feed(const TableShards& shards, const std::string& account, const std::string& table,
                           const std::string& follower) {
  FeedView view;
  const auto key = feed_key(account, table);
  view.logs = TRY(logs_of(shards, key));
  if (!has_follower(view.logs, follower)) return fail(ErrorCode::kFollowerNotFound);
  for (const auto& log : view.logs) {
    const auto& known = *log.feed.find(follower);
    view.stale = view.stale || known.stale;
    Lane lane{*log.rows, capture_of(log.feed, key)};
    lane.after = known.position;
    lane.as_of = static_cast<Version>(TRY(read_counter(*log.rows, kLastVersionKey)));
    const auto generation = shards.generation_on(*log.rows, shards[log.shard], account, table);
    if (generation) lane.generation = *generation;
    if (!generation && !generation.failed_with(ErrorCode::kTableNotFound)) return fail(generation.error());
    view.lanes.push_back(std::move(lane));
  }
  if (test_switches().hide_staleness.load(std::memory_order_relaxed)) view.stale = false;
  return view;
}

/// Begins at a position; one before the follower's own stands for that one. Returns false if it is after the store's
/// last version.
bool begin_at(FeedView& view, const Position& after, const NotesRead& skip) {
  const auto too_high = [&](const Lane& lane, std::size_t shard) { return after.of(shard) > lane.as_of; };
  bool wrong = after.shards.size() > view.lanes.size();
  for (std::size_t shard = 0; shard < view.lanes.size(); ++shard) {
    auto& lane = view.lanes[shard];
    wrong = wrong || too_high(lane, shard);
    if (after.of(shard) < lane.after) continue;
    lane.after = after.of(shard);
    if (skip.shard == shard) lane.skip = skip.notes;
  }
  return !wrong;
}

/// Returns a page for which nothing was read.
ChangesPage no_page(const FeedView& view, const Position& after) {
  ChangesPage page;
  page.through = after;
  for (const auto& lane : view.lanes) page.as_of.shards.push_back(lane.as_of);
  page.stale = true;
  return page;
}

Task<Result<ChangesPage>> read_page(FeedView& view, std::uint32_t limit, const Selection& selection) {
  PageReader reader(std::move(view.lanes), limit, selection);
  CO_TRY(reader.open());
  CO_TRY(co_await read_in_slices(reader));
  co_return reader.finish();
}

bool says_anything(const ChangesPage& page) {
  return !page.entities.empty() || page.dropped || page.more || page.stale;
}

}  // namespace

Task<bool> TableService::await_changes(ChangeWaits::Place& place, Signal::Ticket ticket, Duration end, Position seen) {
  auto wait = std::max(Duration::zero(), end - clock_.monotonic());
  const bool looks_again = shards_.shared() && wait > kBetweenLooks;
  if (looks_again) wait = kBetweenLooks;
  for (std::size_t shard = 0; shard < seen.shards.size(); ++shard) {
    hints_.listen(co_await asio::this_coro::executor, shard, place.feed(), seen.shards[shard]);
  }
  const bool woken = co_await place.wait(ticket, wait);
  co_return (woken || looks_again) && !waits_.closed();
}

Task<Result<ChangesPage>> TableService::changed_entities(std::string account, std::string table, std::string follower,
                                                         Position after, NotesRead skip, std::uint32_t limit,
                                                         Duration wait, Selection selection) {
  if (limit == 0 || limit > kMaxChangedEntities) {
    co_return fail(ErrorCode::kInvalidInput, "A page has the changes of 1 to 10000 entities.");
  }
  if (wait < Duration::zero() || wait > kMaxWaitForChanges)
    co_return fail(ErrorCode::kInvalidInput, "A wait is 0 to 5 seconds.");
  CO_TRY(check_selection(selection));
  const auto read = [&]() -> Task<Result<ReadPage<ChangesPage>>> {
    auto view = CO_TRY(view_feed(shards_, account, table, follower));
    if (!begin_at(view, after, skip)) co_return fail_too_high(shards_);
    auto page = view.stale ? no_page(view, after) : CO_TRY(co_await read_page(view, limit, selection));
    ReadPage<ChangesPage> got{std::move(page)};
    got.says_anything = says_anything(got.page);
    got.feed = view.logs.front().feed.feed;
    got.seen = got.page.as_of;
    co_return got;
  };
  co_return co_await await_page<ChangesPage>(wait, read);
}

}  // namespace tidemark::table_store
