// Point reads and scans. Both read one snapshot.
#include "common/base/encoding.h"
#include "table_store/model/limits.h"
#include "table_store/model/query_plan.h"
#include "table_store/model/text_order.h"
#include "table_store/storage/service_impl.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

using namespace std::chrono_literals;
constexpr Duration kSlice = 4ms;
constexpr Duration kBudget = 5s;
constexpr std::size_t kEntitiesBetweenClockReads = 32;
// A full page looks this far for another match, so that a last page usually says that it is the last.
constexpr std::size_t kLookAhead = 1000;

/// Time spent on one query. A clock that jumps back costs one slice at most.
class Budget {
 public:
  explicit Budget(Clock& clock) : clock_(clock), slice_start_(clock.now()) {}
  /// Call per entity; true when the thread should be given away.
  bool slice_over() {
    if (++entities_ % kEntitiesBetweenClockReads != 0) return false;
    const auto now = clock_.now();
    const auto elapsed = now - slice_start_;
    if (elapsed >= Duration::zero() && elapsed < kSlice) return false;
    spent_ += std::max(elapsed, Duration::zero());
    return true;
  }
  void start_slice() { slice_start_ = clock_.now(); }
  [[nodiscard]] bool exhausted() const { return spent_ >= kBudget; }

 private:
  Clock& clock_;
  Time slice_start_;
  Duration spent_{};
  std::size_t entities_ = 0;
};

/// The plan's ranges behind the table's prefix, without what lies before the continuation or outside the bounds.
std::vector<kv::KeyRange> ranges_of(const Query& query, std::uint64_t generation) {
  const auto prefix = entity_prefix(generation);
  const auto end = entity_prefix(generation + 1);
  auto first = prefix;
  auto last = end;
  if (query.from) first += encode_entity_key(query.from->partition_key, query.from->row_key);
  const auto& bounds = query.bounds;
  if (bounds.start_pk && is_valid_utf8(*bounds.start_pk))
    first = std::max(first, entity_key(generation, *bounds.start_pk, ""));
  if (bounds.end_pk && is_valid_utf8(*bounds.end_pk)) {
    const auto exact = encode_entity_key(*bounds.end_pk, "");
    // Past the whole end partition; KeyBounds::contains does the rest. The encoded empty row key is the first there.
    last = prefix + exact.substr(0, exact.size() - 2) + std::string("\xFF", 1);
  }
  std::vector<kv::KeyRange> out;
  for (const auto& range : plan_ranges(query.filter)) {
    kv::KeyRange clipped;
    clipped.lower = std::max(prefix + range.lower, first);
    clipped.upper = range.upper.empty() ? last : std::min(prefix + range.upper, last);
    if (clipped.lower < clipped.upper) out.push_back(std::move(clipped));
  }
  return out;
}

/// Splits the key and decodes the value of a cursor's row.
Result<void> read_row(const kv::Cursor& cursor, Entity& into) {
  auto parts = parse_entity_key(cursor.key());
  if (!parts) return fail(ErrorCode::kCorruption);
  into.partition_key = std::move(parts->partition_key);
  into.row_key = std::move(parts->row_key);
  return decode_entity(cursor.value(), into);
}

Continuation continue_at(const Entity& entity) { return {entity.partition_key, entity.row_key}; }

Result<void> check_query(const Query& query) {
  if (query.top == 0 || query.top > kMaxPageEntities) return fail(ErrorCode::kInvalidInput);
  if (query.from && (!is_valid_utf8(query.from->partition_key) || !is_valid_utf8(query.from->row_key))) {
    return fail(ErrorCode::kInvalidInput);
  }
  return {};
}

}  // namespace

// A row key part without its partition key part bounds the row key alone: the stricter reading.
bool KeyBounds::contains(std::string_view pk, std::string_view rk) const {
  const auto start_order = start_pk ? compare_ordinal(pk, *start_pk) : std::strong_ordering::equal;
  if (start_order < 0) return false;
  if (start_order == 0 && start_rk && compare_ordinal(rk, *start_rk) < 0) return false;
  const auto end_order = end_pk ? compare_ordinal(pk, *end_pk) : std::strong_ordering::equal;
  if (end_order > 0) return false;
  return end_order != 0 || !end_rk || compare_ordinal(rk, *end_rk) <= 0;
}

Result<std::optional<std::string>> TableService::Impl::read_entity(std::string_view account, std::string_view table,
                                                                   std::string_view partition_key,
                                                                   std::string_view row_key) {
  const auto table_row = table_key(account, table);
  if (const auto known = directory.find(table_row)) {
    auto bytes = engine.get(entity_key(*known, partition_key, row_key));
    if (!bytes || *bytes) return bytes;
    // The table may have gone since: only a view of both rows tells which of the two is missing.
  }
  const auto ticket = directory.ticket();
  const auto snapshot = engine.snapshot();
  const auto generation = find_generation(*snapshot, account, table);
  if (!generation) return fail(generation.error());
  directory.remember(table_row, *generation, ticket);
  return snapshot->get(entity_key(*generation, partition_key, row_key));
}

Result<std::optional<Entity>> TableService::get(std::string_view account, std::string_view table,
                                                std::string_view partition_key, std::string_view row_key) {
  if (auto ok = check_key(partition_key); !ok) return fail(std::move(ok.error()));
  if (auto ok = check_key(row_key); !ok) return fail(std::move(ok.error()));
  auto bytes = impl_->read_entity(account, table, partition_key, row_key);
  if (!bytes) return fail(std::move(bytes.error()));
  std::optional<Entity> found;
  if (!*bytes) return found;
  found.emplace();
  found->partition_key = partition_key;
  found->row_key = row_key;
  if (auto ok = decode_entity(**bytes, *found); !ok) return fail(std::move(ok.error()));
  return found;
}

Task<Result<QueryResult>> TableService::query(std::string account, Query query,
                                              std::function<bool(const Entity&)> each) {
  if (auto ok = check_query(query); !ok) co_return fail(std::move(ok.error()));
  const auto snapshot = impl_->engine.snapshot();
  const auto generation = find_generation(*snapshot, account, query.table);
  if (!generation) co_return fail(generation.error());
  const auto ranges = ranges_of(query, *generation);
  const auto executor = co_await asio::this_coro::executor;
  Budget budget(impl_->clock);
  QueryResult result;
  Entity entity;
  bool full = false;
  std::size_t looked_ahead = 0;
  for (const auto& range : ranges) {
    const auto cursor = snapshot->scan(range);
    for (; cursor->valid(); cursor->next()) {
      if (auto ok = read_row(*cursor, entity); !ok) co_return fail(std::move(ok.error()));
      const bool matches = query.bounds.contains(entity.partition_key, entity.row_key) && query.filter.matches(entity);
      if (budget.exhausted() || (full && (matches || ++looked_ahead > kLookAhead))) {
        result.next = continue_at(entity);
        co_return result;
      }
      if (matches) {
        ++result.count;
        full = !each(entity) || result.count == query.top;
      }
      if (budget.slice_over()) {
        auto turn = asio::post(executor, asio::use_awaitable);
        co_await std::move(turn);
        budget.start_slice();
      }
    }
    if (auto ok = cursor->status(); !ok) co_return fail(std::move(ok.error()));
  }
  co_return result;
}

}  // namespace tidemark::table_store
