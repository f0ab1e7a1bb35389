// Pages of changes for followers (model/changes.h): the log after a position, joined with the entities as they are now.
// All of a page is read from one snapshot, in slices, between which the thread is given away.
#include <boost/asio/post.hpp>
#include <unordered_map>

#include "table_store/model/limits.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/query_plan.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/table_service.h"
#include "table_store/storage/test_switches.h"

namespace tidemark::table_store {
namespace {

constexpr Duration kMaxWait = std::chrono::seconds(5);
constexpr std::size_t kNotesInASlice = 64;

/// Where a page begins.
struct PagePlace {
  Version after = 0;
  std::uint32_t skip = 0;  // notes of the first transaction after it
};

std::vector<Property> properties_in(std::string_view block) {
  std::vector<Property> out;
  PropertyReader reader(block);
  while (reader.next()) out.push_back({std::string(reader.name()), value_of(reader.value())});
  return out;
}

class PageReader {
 public:
  /// `generation`: nothing if the table is not there.
  PageReader(const kv::Reader& snapshot, std::shared_ptr<const Capture> capture,
             std::optional<std::uint64_t> generation, PagePlace place, std::uint32_t limit, Version as_of,
             const Selection& selection)
      : snapshot_(snapshot),
        capture_(std::move(capture)),
        generation_(generation),
        limit_(limit),
        selection_(selection),
        cursor_(snapshot.scan(notes_after(capture_->feed, place.after))),
        after_(place.after),
        version_(place.after),
        skip_(place.skip) {
    page_.as_of = as_of;
  }

  /// Reads a note; false at the end of the page.
  Result<bool> step() {
    if (!cursor_->valid()) {
      TRY(cursor_->status());
      page_.through = page_.as_of;
      return false;
    }
    const auto place = place_of_note(cursor_->key());
    if (!place) return corrupt_record("note");
    if (!goes_on(place->version)) {
      page_.more = true;
      return false;
    }
    ++read_of_version_;
    if (read_of_version_ > skip_) TRY(add(TRY(decode_note(cursor_->value()))));
    cursor_->next();
    return true;
  }

  /// Without what only the reading needed.
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
  /// Whether the next note, which has this version, belongs to the page.
  bool goes_on(Version version) {
    const bool full = bytes_ >= kMaxReplyBytes;
    if (version == version_) {
      if (full) page_.skip = read_of_version_;
      return !full;
    }
    page_.through = version_;
    if (full || notes_ >= limit_ || page_.dropped) return false;
    if (version_ != after_) skip_ = 0;
    version_ = version;
    read_of_version_ = 0;
    return true;
  }

  Result<void> add(Note note) {
    ++notes_;
    if (note.kind == NoteKind::kDropped) {
      page_.dropped = version_;
      return {};
    }
    if (note.kind == NoteKind::kCreated) return {};
    if (note.before_version) {
      auto chosen = chosen_properties(note.before, capture_->properties);
      if (!chosen) return corrupt_record("note");
      note.before = std::move(*chosen);
    }
    bytes_ += note.partition_key.size() + note.row_key.size() + note.before.size();
    auto key = encode_entity_key(note.partition_key, note.row_key);
    const auto next = places_.size();
    const auto [found, is_new] = places_.try_emplace(std::move(key), next);
    const auto place = found->second;
    if (is_new) {
      auto& entity = page_.entities.emplace_back();
      entity.partition_key = std::move(note.partition_key);
      entity.row_key = std::move(note.row_key);
      blocks_.emplace_back();
      last_changes_.push_back(0);
      TRY(read_entity(found->first, entity));
    }
    last_changes_[place] = notes_;
    auto& blocks = blocks_[place];
    if (!note.was_there) page_.entities[place].appeared = true;
    if (!note.was_there || std::ranges::find(blocks, note.before) != blocks.end()) return {};
    page_.entities[place].before.push_back(properties_in(note.before));
    blocks.push_back(std::move(note.before));
    return {};
  }

  Result<void> read_entity(const std::string& key, ChangedEntity& entity) {
    if (!generation_) return {};
    const auto stored = TRY(snapshot_.get(entity_prefix(*generation_) + key));
    if (!stored) return {};
    auto view = TRY(view_entity(*stored));
    if (capture_->made(view.origin)) return {};
    if (!is_property_block(view.block)) return corrupt_record("entity");
    view.partition_key = entity.partition_key;
    view.row_key = entity.row_key;
    entity.now = view.to_entity(selection_);
    bytes_ += stored->size();
    return {};
  }

  const kv::Reader& snapshot_;
  const std::shared_ptr<const Capture> capture_;
  const std::optional<std::uint64_t> generation_;
  const std::uint32_t limit_;
  const Selection& selection_;  // of what the entities are now
  std::unique_ptr<kv::Cursor> cursor_;
  const Version after_;
  Version version_;  // of the transaction that is being read
  std::uint32_t skip_;
  std::uint32_t read_of_version_ = 0;
  std::uint64_t notes_ = 0;  // in the page
  std::size_t bytes_ = 0;
  ChangesPage page_;
  // For each entity of the page: its place there, which of the notes was its last, and the blocks of its `before`.
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<std::uint64_t> last_changes_;
  std::vector<std::vector<std::string>> blocks_;
};

/// A table's feed as one snapshot shows it, for one of its followers.
struct FeedView {
  std::shared_ptr<const kv::Reader> snapshot;
  std::shared_ptr<const Capture> capture;
  std::optional<std::uint64_t> generation;
  Version position = 0;  // of the follower
  bool stale = false;
  Version as_of = 0;
};

Result<FeedView> view_feed(const kv::Engine& engine, const std::string& account, const std::string& table,
                           const std::string& follower) {
  FeedView view;
  view.snapshot = engine.snapshot();
  const auto& snapshot = *view.snapshot;
  const auto key = feed_key(account, table);
  const auto feed = TRY(read_feed(snapshot, key));
  const auto* known = feed ? feed->find(follower) : nullptr;
  if (known == nullptr) return fail(ErrorCode::kFollowerNotFound);
  view.position = known->position;
  view.stale = known->stale && !test_switches().hide_staleness.load(std::memory_order_relaxed);
  view.capture = capture_of(*feed, key);
  view.as_of = static_cast<Version>(TRY(read_counter(snapshot, kLastVersionKey)));
  const auto generation = find_generation(snapshot, account, table);
  if (generation) view.generation = *generation;
  if (!generation && !generation.failed_with(ErrorCode::kTableNotFound)) return fail(generation.error());
  return view;
}

Task<Result<ChangesPage>> read_page(const FeedView& view, PagePlace place, std::uint32_t limit,
                                    const Selection& selection) {
  PageReader reader(*view.snapshot, view.capture, view.generation, place, limit, view.as_of, selection);
  const auto executor = co_await asio::this_coro::executor;
  for (std::size_t notes = 1; CO_TRY(reader.step()); ++notes) {
    if (notes % kNotesInASlice == 0) co_await asio::post(executor, asio::use_awaitable);
  }
  co_return reader.finish();
}

bool says_anything(const ChangesPage& page) {
  return !page.entities.empty() || page.dropped || page.more || page.stale;
}

}  // namespace

Task<Result<ChangesPage>> TableService::changed_entities(std::string account, std::string table, std::string follower,
                                                         Version after, std::uint32_t skip, std::uint32_t limit,
                                                         Duration wait, Selection selection) {
  if (limit == 0 || limit > kMaxChangedEntities) {
    co_return fail(ErrorCode::kInvalidInput, "A page has 1 to 10000 changes.");
  }
  if (wait < Duration::zero() || wait > kMaxWait) co_return fail(ErrorCode::kInvalidInput, "A wait is 0 to 5 seconds.");
  CO_TRY(check_selection(selection));
  const auto end = clock_.monotonic() + wait;
  std::optional<ChangeWaits::Place> place;
  for (bool last = wait == Duration::zero();;) {
    const auto ticket = place ? place->ticket() : Signal::Ticket{};
    const auto view = CO_TRY(view_feed(engine_, account, table, follower));
    if (after > view.as_of) {
      co_return fail(ErrorCode::kInvalidInput, "The position is higher than the last version of the store.");
    }
    ChangesPage page;
    page.as_of = view.as_of;
    page.through = after;
    page.stale = view.stale;
    if (!view.stale) {
      const PagePlace from = after < view.position ? PagePlace{view.position, 0} : PagePlace{after, skip};
      page = CO_TRY(co_await read_page(view, from, limit, selection));
    }
    if (last || says_anything(page)) co_return page;
    if (!place) {
      auto taken = waits_.take(view.capture->feed);
      if (taken.failed_with(ErrorCode::kUnavailable)) co_return page;  // the store ends
      place.emplace(CO_TRY(std::move(taken)));
    } else {
      const auto left = std::max(Duration::zero(), end - clock_.monotonic());
      last = !co_await place->wait(ticket, left) || waits_.closed();
    }
  }
}

}  // namespace tidemark::table_store
