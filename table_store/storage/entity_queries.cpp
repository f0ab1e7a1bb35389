// Point reads and scans. Both read one snapshot.
//
// A scan works in slices. The first is short and free, so that small scans are never queued; for every further one it
// waits for its turn (scan_turns.h). It ends with a continuation 5 s after it began, or after the caller's patience,
// waiting included: a client gets its page, perhaps an empty one, long before it gives up.
#include "common/base/encoding.h"
#include "common/kv/key_codec.h"
#include "table_store/model/limits.h"
#include "table_store/model/text_order.h"
#include "table_store/storage/change_records.h"
#include "table_store/storage/listed_candidates.h"
#include "table_store/storage/query_plan.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/table_service.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {
namespace {

using namespace std::chrono_literals;
constexpr Duration kFreeSlice = 1ms;
constexpr Duration kSlice = 2ms;
constexpr Duration kBudget = 5s;
// Work between two looks at the clock.
constexpr std::size_t kEntitiesBetweenLooks = 32;
constexpr std::size_t kBytesBetweenLooks = 128UL << 10;
// The cost of a step beside the bytes it reads, in bytes: a search in the database.
constexpr std::size_t kBytesOfAStep = 256;
// A full page looks this far for another match, so that a last page usually says that it is the last.
constexpr std::size_t kLookAhead = 1000;
// A walk over more entities than this is unlikely to be repeated while the cache remembers it.
constexpr std::size_t kLongWalk = 2000;
// Points that are read at once.
constexpr std::size_t kMostPoints = 16;

/// Measures how long a query has run. A clock that jumps ends a slice or a page early, never late.
class Budget {
 public:
  Budget(Clock& clock, Duration patience)
      : clock_(clock),
        all_(patience > Duration::zero() ? std::min(patience, kBudget) : kBudget),
        last_look_(clock.now()) {}
  /// Call per entity; true when the thread should be given away.
  bool slice_over(std::size_t bytes) {
    bytes_ += bytes;
    if (++entities_ < kEntitiesBetweenLooks && bytes_ < kBytesBetweenLooks) return false;
    entities_ = bytes_ = 0;
    look();
    return in_slice_ >= (slices_ == 0 ? kFreeSlice : kSlice);
  }
  void start_slice() {
    look();
    ++slices_;
    in_slice_ = Duration::zero();
  }
  [[nodiscard]] bool exhausted() const { return in_all_ >= all_; }
  [[nodiscard]] std::uint64_t slices() const { return slices_; }

 private:
  void look() {
    const auto now = clock_.now();
    const auto passed = now - last_look_;
    last_look_ = now;
    const Duration counted = passed < Duration::zero() ? kSlice : std::chrono::duration_cast<Duration>(passed);
    in_slice_ += counted;
    in_all_ += counted;
  }

  Clock& clock_;
  const Duration all_;
  Time last_look_;
  Duration in_slice_{};
  Duration in_all_{};
  std::uint64_t slices_ = 0;
  std::size_t entities_ = 0;
  std::size_t bytes_ = 0;
};

/// Returns the plan's ranges under the table's prefix, without the parts before the continuation or outside the bounds.
std::vector<PlannedRange> ranges_of(const Query& query, QueryPlan plan, std::uint64_t generation) {
  const auto prefix = entity_prefix(generation);
  auto first = prefix;
  auto last = entity_prefix(generation + 1);
  if (query.from) first += encode_entity_key(query.from->partition_key, query.from->row_key);
  // Exactly the bounds: keys outside are neither read nor named by a continuation.
  const auto& bounds = query.bounds;
  if (bounds.start_pk) first = std::max(first, entity_key(generation, *bounds.start_pk, bounds.start_rk.value_or("")));
  if (bounds.end_pk) {
    auto key = prefix;
    kv::append_utf16(key, *bounds.end_pk);
    if (bounds.end_rk) kv::append_utf16(key, *bounds.end_rk);
    last = kv::prefix_end(key);
  }
  std::vector<PlannedRange> out;
  for (auto& range : plan.ranges) {
    if (range.access == Access::kPoint) {
      auto key = prefix + range.keys.lower;
      if (key >= first && key < last) out.push_back({range.access, {std::move(key), {}}});
      continue;
    }
    kv::KeyRange clipped;
    clipped.lower = std::max(prefix + range.keys.lower, first);
    clipped.upper = range.keys.upper.empty() ? last : std::min(prefix + range.keys.upper, last);
    if (clipped.lower < clipped.upper) out.push_back({range.access, std::move(clipped)});
  }
  return out;
}

/// Narrows the plan to these entities, as far as they are in its ranges.
void narrow(QueryPlan& plan, std::vector<std::string> keys) {
  std::vector<PlannedRange> points;
  points.reserve(keys.size());
  auto range = plan.ranges.begin();
  for (auto& key : keys) {
    while (range != plan.ranges.end() && !range->keys.upper.empty() && range->keys.upper <= key) ++range;
    if (range == plan.ranges.end()) break;
    if (key >= range->keys.lower) points.push_back({Access::kPoint, {std::move(key), {}}});
  }
  plan.ranges = std::move(points);
  plan.filter_rows = true;
}

/// Tells whether the filter says more than keys, and the keys alone leave more than single entities.
bool is_worth_lists(const Query& query, const QueryPlan& plan) {
  return query.keys_in && plan.filter_rows &&
         std::ranges::any_of(plan.ranges, [](const auto& range) { return range.access != Access::kPoint; });
}

/// Walks over the rows of the ranges, one after another. Ranges of one key are gets, several at once. Each step is
/// short, also through empty ranges, so that the caller can give the thread away between steps.
class Walk {
 public:
  enum class Step {
    kRow,     // entity() has it
    kAbsent,  // a planned point does not exist; entity() has its keys
    kGap,     // a planned range is empty
    kEnd,
  };

  Walk(const kv::Reader& snapshot, std::vector<PlannedRange> ranges)
      : snapshot_(snapshot), ranges_(std::move(ranges)) {}

  /// Goes to the next step. Views live until the next call.
  Result<Step> next() {
    if (!cursor_) return open_next();
    cursor_->next();
    if (!cursor_->valid()) return close();
    if (++walked_ == kLongWalk) {
      cursor_ = snapshot_.scan_long({std::string(cursor_->key()), ranges_[at_ - 1].keys.upper});
      if (!cursor_->valid()) return close();  // it failed
    }
    return read(cursor_->key(), cursor_->value());
  }
  [[nodiscard]] const EntityView& entity() const { return entity_; }

 private:
  Result<Step> open_next() {
    if (next_point_ < points_.size()) return read_point();
    if (at_ == ranges_.size()) return Step::kEnd;
    if (ranges_[at_].access == Access::kPoint) {
      TRY(get_points());
      return read_point();
    }
    const auto& range = ranges_[at_++];
    cursor_ = walked_ < kLongWalk ? snapshot_.scan(range.keys) : snapshot_.scan_long(range.keys);
    return cursor_->valid() ? read(cursor_->key(), cursor_->value()) : close();
  }

  Result<Step> close() {
    auto ok = cursor_->status();
    cursor_.reset();
    if (!ok) return fail(std::move(ok.error()));
    return at_ == ranges_.size() ? Step::kEnd : Step::kGap;
  }

  /// Reads more points each time, unless they are large, since many a page ends after the first few.
  Result<void> get_points() {
    points_.clear();
    next_point_ = 0;
    for (; at_ < ranges_.size() && ranges_[at_].access == Access::kPoint && points_.size() < at_once_; ++at_) {
      points_.push_back(std::move(ranges_[at_].keys.lower));
    }
    records_.assign(points_.size(), std::nullopt);
    std::size_t bytes = 0;
    TRY(snapshot_.get_all(points_, [&](std::size_t i, std::optional<std::string_view> record) -> Result<void> {
      if (!record) return {};
      bytes += record->size();
      records_[i].emplace(*record);
      return {};
    }));
    at_once_ = bytes < kBytesBetweenLooks ? std::min(2 * at_once_, kMostPoints) : 1;
    return {};
  }

  Result<Step> read_point() {
    const auto& key = points_[next_point_];
    const auto& record = records_[next_point_++];
    if (record) return read(key, *record);
    if (!key_.read(key)) return fail(ErrorCode::kCorruption);
    entity_ = EntityView{};
    entity_.partition_key = key_.partition_key;
    entity_.row_key = key_.row_key;
    return Step::kAbsent;
  }

  Result<Step> read(std::string_view key, std::string_view value) {
    if (!key_.read(key)) return fail(ErrorCode::kCorruption);
    entity_ = TRY(view_entity(value));
    entity_.partition_key = key_.partition_key;
    entity_.row_key = key_.row_key;
    return Step::kRow;
  }

  const kv::Reader& snapshot_;
  std::vector<PlannedRange> ranges_;
  std::size_t at_ = 0;
  std::size_t walked_ = 0;
  std::unique_ptr<kv::Cursor> cursor_;
  std::vector<std::string> points_;                  // that were read together
  std::vector<std::optional<std::string>> records_;  // of the points
  std::size_t next_point_ = 0;
  std::size_t at_once_ = 1;
  EntityKeyReader key_;
  EntityView entity_;
};

/// Counts the entities that a query reads, partition by partition.
class ScanMeter {
 public:
  explicit ScanMeter(const Query& query) : query_(query) {}
  ~ScanMeter() { settle(); }
  ScanMeter(const ScanMeter&) = delete;
  ScanMeter& operator=(const ScanMeter&) = delete;

  Result<void> count(std::string_view partition_key) {
    if (!query_.meter) return {};
    if (read_ == 0 || partition_key != partition_key_) {
      settle();
      TRY(query_.meter(partition_key, 0));
      partition_key_ = partition_key;
    }
    ++read_;
    return {};
  }

 private:
  void settle() {
    if (read_ > 0) static_cast<void>(query_.meter(partition_key_, std::exchange(read_, 0)).has_value());
  }

  const Query& query_;
  std::string partition_key_;
  std::uint64_t read_ = 0;
};

/// Returns null if the query does not care, or if the table has no followers.
Result<std::shared_ptr<const Capture>> followers_for(const Query& query, const TableViews& views,
                                                     std::string_view account) {
  if (!query.sources_only) return nullptr;
  return read_capture(views.catalogue(), feed_key(account, query.table));
}

/// Tells which rows a query wants, beside its filter: by their writers.
class Makers {
 public:
  Makers(const Query& query, std::shared_ptr<const Capture> followers)
      : query_(query), followers_(std::move(followers)) {}
  [[nodiscard]] bool include(const EntityView& entity) const {
    if (!query_.operation.empty() && entity.operation != query_.operation) return false;
    if (!query_.follower.empty() && !(entity.origin && entity.origin->follower == query_.follower)) return false;
    return followers_ == nullptr || !followers_->made(entity.origin);
  }

 private:
  const Query& query_;
  std::shared_ptr<const Capture> followers_;
};

Continuation continue_at(const EntityView& entity) {
  return {std::string(entity.partition_key), std::string(entity.row_key)};
}

Result<void> check_query(const Query& query) {
  if (query.top == 0 || query.top > kMaxPageEntities) return fail(ErrorCode::kInvalidInput);
  if (query.from && (!is_valid_utf8(query.from->partition_key) || !is_valid_utf8(query.from->row_key))) {
    return fail(ErrorCode::kInvalidInput);
  }
  const auto& bounds = query.bounds;
  for (const auto* part : {&bounds.start_pk, &bounds.start_rk, &bounds.end_pk, &bounds.end_rk}) {
    if (*part && !is_valid_utf8(**part)) return fail(ErrorCode::kInvalidInput);
  }
  if ((bounds.start_rk && !bounds.start_pk) || (bounds.end_rk && !bounds.end_pk)) return fail(ErrorCode::kInvalidInput);
  return {};
}

}  // namespace

bool KeyBounds::contains(std::string_view pk, std::string_view rk) const {
  const auto start_order = start_pk ? compare_ordinal(pk, *start_pk) : std::strong_ordering::equal;
  if (start_order < 0) return false;
  if (start_order == 0 && start_rk && compare_ordinal(rk, *start_rk) < 0) return false;
  const auto end_order = end_pk ? compare_ordinal(pk, *end_pk) : std::strong_ordering::equal;
  if (end_order > 0) return false;
  return end_order != 0 || !end_rk || compare_ordinal(rk, *end_rk) <= 0;
}

Result<std::optional<std::string>> TableService::read_entity(std::string_view account, std::string_view table,
                                                             std::string_view partition_key, std::string_view row_key) {
  const auto table_row = table_key(account, table);
  auto& shard = shards_.of(account, table, partition_key);
  if (const auto known = shard.directory.find(table_row)) {
    auto bytes = shard.engine.get(entity_key(known->generation, partition_key, row_key));
    // The table may have been dropped since: only a view of both rows tells which of the two is missing. And another
    // process may have taken the shard.
    if ((!bytes || *bytes) && shards_.leased(shard.number)) return bytes;
  }
  const auto ticket = shard.directory.ticket();
  const auto snapshot = shard.engine.snapshot();
  auto known = shards_.find(*snapshot, shard, account, table);
  if (shard.number != 0 && known.failed_with(ErrorCode::kTableNotFound)) {
    known = KnownTable{TRY(shards_.find_generation(account, table))};  // the shard has no copy yet
  }
  TRY(known);
  shard.directory.remember(table_row, *known, ticket);
  return snapshot->get(entity_key(known->generation, partition_key, row_key));
}

Result<bool> TableService::view(std::string_view account, std::string_view table, std::string_view partition_key,
                                std::string_view row_key, const std::function<void(const EntityView&)>& see) {
  TRY(check_key(partition_key));
  TRY(check_key(row_key));
  const auto bytes = TRY(read_entity(account, table, partition_key, row_key));
  if (!bytes) return false;
  auto entity = TRY(view_entity(*bytes));
  if (!is_property_block(entity.block)) return fail(ErrorCode::kCorruption);
  entity.partition_key = partition_key;
  entity.row_key = row_key;
  see(entity);
  return true;
}

Result<std::optional<Entity>> TableService::get(std::string_view account, std::string_view table,
                                                std::string_view partition_key, std::string_view row_key) {
  std::optional<Entity> found;
  const auto seen =
      view(account, table, partition_key, row_key, [&found](const EntityView& entity) { found = entity.to_entity(); });
  if (!seen) return fail(seen.error());
  return found;
}

Task<Result<QueryResult>> TableService::query(std::string account, Query query,
                                              std::function<bool(const EntityView&)> each) {
  CO_TRY(check_query(query));
  const TableViews views(shards_);
  auto plan = plan_query(query.filter);
  QueryResult result;
  if (is_worth_lists(query, plan)) {
    if (auto listed = CO_TRY(co_await find_candidates(shards_, views, account, query))) {
      narrow(plan, std::move(listed->keys));
      result.index = std::move(listed->index);
    }
  }
  const auto entities = CO_TRY(views.entities(account, query.table));
  const Makers makers(query, CO_TRY(followers_for(query, views, account)));
  const bool filter_rows = plan.filter_rows;
  Walk walk(*entities.rows, ranges_of(query, std::move(plan), entities.generation));
  Budget budget(clock_, query.patience);
  ScanTurns::Turn turn;
  ScanMeter meter(query);
  const auto told = [&](QueryResult found) -> Result<QueryResult> {
    TRY(views.check_still_there(account, query.table, entities.generation));
    return found;
  };
  bool full = false;
  bool stopping = false;
  std::size_t looked_ahead = 0;
  for (;;) {
    const auto step = CO_TRY(walk.next());
    if (step == Walk::Step::kEnd) co_return told(std::move(result));
    const auto& entity = walk.entity();
    const bool matches =
        step == Walk::Step::kRow && makers.include(entity) && (!filter_rows || query.filter.matches(entity));
    const bool enough = stopping || budget.exhausted() || (full && (matches || ++looked_ahead > kLookAhead));
    if (enough && step != Walk::Step::kGap) {
      result.next = continue_at(entity);
      co_return told(std::move(result));
    }
    if (step == Walk::Step::kRow) {
      if (auto counted = meter.count(entity.partition_key); !counted) {
        if (result.count == 0) co_return fail(std::move(counted.error()));
        result.next = continue_at(entity);
        co_return told(std::move(result));
      }
      ++result.searched;
    }
    if (matches) {
      if (!is_property_block(entity.block)) co_return fail(ErrorCode::kCorruption);
      ++result.count;
      full = !each(entity) || result.count == query.top;
    }
    if (!budget.slice_over(entity.block.size() + kBytesOfAStep)) continue;
    turn.give_back();
    if (query.abandoned && query.abandoned()) co_return fail(ErrorCode::kCancelled);
    auto taken = co_await turns_.take(budget.slices());
    if (taken.failed_with(ErrorCode::kUnavailable)) {
      stopping = true;  // a short page, which the client continues with another process
      continue;
    }
    if (!taken) co_return fail(std::move(taken.error()));
    turn = std::move(*taken);
    budget.start_slice();
  }
}

}  // namespace tidemark::table_store
