// Finds rows by the bounds of their keys: many searches in one snapshot.
#include <boost/asio/post.hpp>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/kv/key_codec.h"
#include "table_store/model/limits.h"
#include "table_store/storage/row_searches.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_rows.h"
#include "table_store/storage/table_service.h"
#include "table_store/storage/table_views.h"

namespace tidemark::table_store {
namespace {

// The rows and bytes after which the thread is given away. The last search of a slice may go beyond them.
constexpr std::size_t kRowsInASlice = 512;
constexpr std::size_t kBytesInASlice = 512UL << 10;
// The cost of a search beside the rows that it passes over, as a number of rows.
constexpr std::size_t kRowsOfASearch = 8;
constexpr std::size_t kMaxBoundUnits = kMaxKeyUnits + 1;  // just behind a key

/// Tells whether only one key fits the search. Keys have no control characters, so no other key lies between a key and
/// the same key followed by \x01.
bool is_for_one_key(const RowSearch& search) {
  return search.before.size() == search.from.size() + 1 && search.before.starts_with(search.from) &&
         search.before.back() == '\x01';
}

struct Looked {
  std::size_t rows = 0;
  std::size_t bytes = 0;
  void at(std::string_view key, std::string_view record) {
    ++rows;
    bytes += key.size() + record.size();
  }
  [[nodiscard]] bool slice_over() const { return rows >= kRowsInASlice || bytes >= kBytesInASlice; }
};

/// Adds the row to `found`, if there is one, and its size to `found_bytes`.
Result<void> find_row(const kv::Reader& snapshot, std::uint64_t generation, const RowSearch& search,
                      const Selection& selection, FoundRows& found, std::size_t& found_bytes, Looked& looked) {
  auto& row = found.rows.emplace_back();
  looked.rows += kRowsOfASearch;
  const auto take = [&](std::string_view key, std::string_view record) -> Result<void> {
    looked.bytes += key.size() + record.size();
    found_bytes += key.size() + (search.keys_only ? 0 : record.size());
    row = TRY(entity_in(key, record, search.keys_only ? Selection{std::in_place} : selection));
    return {};
  };
  if (is_for_one_key(search)) {
    const auto key = entity_key(generation, search.partition_key, search.from);
    const auto record = TRY(snapshot.get(key));
    return record ? take(key, *record) : Result<void>();
  }
  const auto direction = search.last ? kv::Direction::kReverse : kv::Direction::kForward;
  const auto cursor = snapshot.scan(range_of(generation, search), direction);
  EntityKeyReader keys;
  for (Looked passed; cursor->valid() && search.row_key_bytes > 0; cursor->next()) {
    if (passed.rows == kMostPassedOver || passed.bytes >= kMostBytesPassedOver) break;
    if (!keys.read(cursor->key())) return corrupt_record("entity");
    if (keys.row_key.size() == search.row_key_bytes) break;
    passed.at(cursor->key(), cursor->value());
    looked.at(cursor->key(), cursor->value());
  }
  TRY(cursor->status());
  return cursor->valid() ? take(cursor->key(), cursor->value()) : Result<void>();
}

}  // namespace

Result<void> check_search(const RowSearch& search) {
  TRY(check_key(search.partition_key));
  for (const auto* bound : {&search.from, &search.before}) {
    if (!is_valid_utf8(*bound) || utf16_length(*bound) > kMaxBoundUnits) return fail(ErrorCode::kOutOfRangeInput);
  }
  return {};
}

kv::KeyRange range_of(std::uint64_t generation, const RowSearch& search) {
  kv::KeyRange range;
  range.lower = entity_key(generation, search.partition_key, search.from);
  if (search.before.empty()) {
    range.upper = kv::prefix_end(kv::key('e', generation, kv::Utf16{search.partition_key}));
  } else {
    range.upper = entity_key(generation, search.partition_key, search.before);
  }
  return range;
}

Result<Entity> entity_in(std::string_view key, std::string_view record, const Selection& selection) {
  EntityKeyReader keys;
  if (!keys.read(key)) return corrupt_record("entity");
  auto view = TRY(view_entity(record));
  if (!is_property_block(view.block)) return corrupt_record("entity");
  view.partition_key = keys.partition_key;
  view.row_key = keys.row_key;
  return view.to_entity(selection);
}

Task<Result<FoundRows>> TableService::find_rows(std::string account, std::string table, std::vector<RowSearch> searches,
                                                Selection selection) {
  if (searches.empty() || searches.size() > kMaxSearches) {
    co_return fail(ErrorCode::kInvalidInput, "A call makes 1 to 1000 searches.");
  }
  for (const auto& search : searches) CO_TRY(check_search(search));
  CO_TRY(check_selection(selection));
  const TableViews views(shards_);
  const auto entities = CO_TRY(views.entities(account, table));
  const auto executor = co_await asio::this_coro::executor;
  FoundRows found;
  found.rows.reserve(searches.size());
  std::size_t bytes = 0;
  Looked looked;
  for (const auto& search : searches) {
    CO_TRY(find_row(*entities.rows, entities.generation, search, selection, found, bytes, looked));
    found.as_of.push_back(CO_TRY(views.as_of(shards_.of(account, table, search.partition_key).number)));
    if (bytes >= kMaxReplyBytes) break;
    if (!looked.slice_over()) continue;
    co_await asio::post(executor, asio::use_awaitable);
    looked = {};
  }
  CO_TRY(views.check_still_there(account, table, entities.generation));
  co_return found;
}

}  // namespace tidemark::table_store
