// Reads rows that list entities, and the entities that they list (model/listed.h).
#include <boost/asio/post.hpp>
#include <span>

#include "table_store/model/limits.h"
#include "table_store/storage/listed_reading.h"
#include "table_store/storage/row_searches.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMostRows = 100;  // including rows of other makers

Result<void> check(const ListedRequest& request) {
  TRY(check_search(request.rows));
  TRY(check_key(request.beside.partition_key));
  TRY(check_key(request.beside.row_key));
  if (request.most == 0 || request.most > kMaxListed) {
    return fail(ErrorCode::kInvalidInput, "A call looks at 1 to 1000 keys.");
  }
  return check_selection(request.selection);
}

/// The reading of one request, some keys at a time.
class Listing {
 public:
  Listing(const TableViews::Entities& entities, const ListedRequest& request, const Unsettled& unsettled,
          std::string& blocks)
      : entities_(entities), request_(request), unsettled_(unsettled), blocks_(blocks, request.selection) {}

  [[nodiscard]] bool full() const { return left() == 0 || bytes_ + blocks_.bytes() >= kMaxReplyBytes; }
  [[nodiscard]] std::size_t left() const { return request_.most - looked_at_; }
  void add(const Entity& row) {
    for (const auto& property : row.properties) {
      if (const auto* text = std::get_if<std::string>(&property.value)) bytes_ += text->size();
    }
  }

  /// Adds the first of these keys to `listed`: as many as are read at once, or as there is room for. `proven`: their
  /// row is the one that existed when the logs were read.
  Result<void> look_at(std::span<const ListedKey> keys, bool proven, std::vector<ListedEntity>& listed) {
    const auto first = listed.size();
    const auto count = std::min({keys.size(), left(), kReadInASlice});
    listed.resize(first + count);
    std::vector<std::string> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [partition_key, row_key] = keys[i];
      listed[first + i].settled = proven && !unsettled_.may_contain(partition_key, row_key);
      if ((listed[first + i].settled && !request_.all) || !entities_.rows) continue;
      wanted.push_back(entity_key(entities_.generation, partition_key, row_key));
      places.push_back(first + i);
    }
    auto end = first + count;
    if (!wanted.empty()) {
      TRY(entities_.rows->get_all(wanted, [&](std::size_t i, std::optional<std::string_view> record) -> Result<void> {
        if (full()) end = std::min(end, places[i]);
        if (!record || places[i] >= end) return {};
        const auto entity = TRY(view_entity(*record));
        listed[places[i]].now = TRY(blocks_.take(entity, entity.version, wanted.size() - i));
        return {};
      }));
    }
    listed.resize(end);
    looked_at_ += end - first;
    read_ += wanted.size();
    return {};
  }
  /// Tells whether so much was read that the thread should be given away.
  [[nodiscard]] bool slice_over() { return read_ >= kReadInASlice && std::exchange(read_, 0) > 0; }

 private:
  const TableViews::Entities& entities_;
  const ListedRequest& request_;
  const Unsettled& unsettled_;
  StoredBlocks blocks_;
  std::size_t looked_at_ = 0;
  std::size_t bytes_ = 0;  // of the rows
  std::size_t read_ = 0;
};

const std::string* text_in(const Entity& row, std::string_view property) {
  const auto* value = row.find(property);
  return value == nullptr ? nullptr : std::get_if<std::string>(value);
}

}  // namespace

Task<Result<ListedPage>> TableService::find_listed(std::string account, ListedRequest request, KeysIn keys_in) {
  CO_TRY(check(request));
  const ProvenRows proven(shards_, account, request.table, request.rows);
  const auto unsettled =
      CO_TRY(Unsettled::of(proven.logs(), feed_key(account, request.entities), request.follower, kMostWaiting));
  const auto entities = CO_TRY(entities_if_there(proven.logs(), account, request.entities));
  const auto lists = CO_TRY(proven.rows().entities(account, request.table));
  const auto executor = co_await asio::this_coro::executor;
  ListedPage page;
  page.beside = CO_TRY(read_beside(proven.rows(), account, request.beside));
  Listing listing(entities, request, unsettled, page.blocks);
  const auto cursor = lists.rows->scan(range_of(lists.generation, request.rows));
  for (std::size_t rows = 0; cursor->valid() && !page.more; cursor->next()) {
    page.more = listing.full() || ++rows > kMostRows;
    if (page.more) break;
    auto row = CO_TRY(entity_in(cursor->key(), cursor->value()));
    if (!row.origin || row.origin->follower != request.follower) continue;
    listing.add(row);
    const bool same = CO_TRY(proven.unchanged(cursor->key(), cursor->value()));
    auto& out = page.rows.emplace_back(ListingRow{std::move(row), {}});
    const auto* text = text_in(out.row, request.property);
    const auto keys = text == nullptr ? std::vector<ListedKey>{} : keys_in(*text, listing.left() + 1);
    while (out.listed.size() < keys.size() && !page.more) {
      page.more = listing.full();
      if (page.more) break;
      CO_TRY(listing.look_at(std::span(keys).subspan(out.listed.size()), same, out.listed));
      if (listing.slice_over()) co_await asio::post(executor, asio::use_awaitable);
    }
  }
  CO_TRY(cursor->status());
  co_return page;
}

}  // namespace tidemark::table_store
