// Reads copies of entities, and the entities of copies that may be out of date (model/listed.h).
#include <boost/asio/post.hpp>

#include "table_store/model/limits.h"
#include "table_store/storage/listed_reading.h"
#include "table_store/storage/row_searches.h"
#include "table_store/storage/table_keys.h"
#include "table_store/storage/table_records.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

using Show = CopiesRequest::Show;

constexpr std::size_t kMostOfOthers = 1000;  // rows in one call

Result<void> check(const CopiesRequest& request) {
  TRY(check_search(request.rows));
  TRY(check_key(request.beside.partition_key));
  TRY(check_key(request.beside.row_key));
  if (request.most == 0 || request.most > kMaxListed) {
    return fail(ErrorCode::kInvalidInput, "A call looks at 1 to 1000 copies.");
  }
  return check_selection(request.selection);
}

/// The reading of one request. The copies come first and the entities of some of them later, several at once.
class Copies {
 public:
  Copies(const TableViews::Entities& entities, const CopiesRequest& request, const ProvenRows& proven,
         const Unsettled& unsettled, CopiesPage& page)
      : entities_(entities),
        request_(request),
        proven_(proven),
        unsettled_(unsettled),
        page_(page),
        blocks_(page.blocks, request.selection) {}

  [[nodiscard]] bool full() const {
    return page_.copies.size() >= request_.most || blocks_.bytes() >= kMaxReplyBytes || others_ >= kMostOfOthers;
  }

  Result<void> add(std::string_view key, std::string_view record) {
    const auto view = TRY(view_entity(record));
    if (!view.origin || view.origin->follower != request_.follower || !view.source_version) {
      ++others_;
      return {};
    }
    EntityKeyReader keys;
    if (!keys.read(key)) return corrupt_record("entity");
    const auto& origin = *view.origin;
    auto& copy = page_.copies.emplace_back();
    copy.row_key = keys.row_key;
    copy.of = {std::string(origin.partition_key), std::string(origin.row_key)};
    copy.settled = !unsettled_.may_contain(origin.partition_key, origin.row_key) && TRY(proven_.unchanged(key, record));
    if (copy.settled && request_.show == Show::kKeys) return {};
    if (copy.settled && request_.show == Show::kCopies) {
      copy.shown = TRY(blocks_.take(view, *view.source_version, request_.most - page_.copies.size() + 1));
      return {};
    }
    if (!entities_.rows) return {};
    wanted_.push_back(entity_key(entities_.generation, origin.partition_key, origin.row_key));
    places_.push_back(page_.copies.size() - 1);
    return {};
  }

  Result<void> go_on_at(std::string_view key) {
    EntityKeyReader keys;
    if (!keys.read(key)) return corrupt_record("entity");
    page_.next = keys.row_key;
    return {};
  }

  [[nodiscard]] bool slice_over() const { return page_.copies.size() - begin_of_slice_ >= kReadInASlice; }

  /// Reads the entities that the copies since the last time need. Copies for which there is no room leave the page.
  Result<void> end_slice() {
    auto end = page_.copies.size();
    begin_of_slice_ = end;
    if (wanted_.empty()) return {};
    TRY(entities_.rows->get_all(wanted_, [&](std::size_t i, std::optional<std::string_view> record) -> Result<void> {
      if (i > 0 && blocks_.bytes() >= kMaxReplyBytes) end = std::min(end, places_[i]);
      if (!record || places_[i] >= end) return {};
      const auto entity = TRY(view_entity(*record));
      page_.copies[places_[i]].shown = TRY(blocks_.take(entity, entity.version, wanted_.size() - i));
      return {};
    }));
    if (end < page_.copies.size()) page_.next = page_.copies[end].row_key;
    page_.copies.resize(end);
    wanted_.clear();
    places_.clear();
    begin_of_slice_ = end;
    return {};
  }

 private:
  const TableViews::Entities& entities_;  // without rows: their table does not exist
  const CopiesRequest& request_;
  const ProvenRows& proven_;
  const Unsettled& unsettled_;
  CopiesPage& page_;
  StoredBlocks blocks_;
  std::size_t others_ = 0;
  std::size_t begin_of_slice_ = 0;
  std::vector<std::string> wanted_;  // the keys of entities
  std::vector<std::size_t> places_;  // and the places of their copies in the page
};

}  // namespace

Task<Result<CopiesPage>> TableService::find_copies(std::string account, CopiesRequest request) {
  CO_TRY(check(request));
  const ProvenRows proven(shards_, account, request.table, request.rows);
  const auto unsettled =
      CO_TRY(Unsettled::of(proven.logs(), feed_key(account, request.entities), request.follower, kMostWaiting));
  const auto entities = CO_TRY(entities_if_there(proven.logs(), account, request.entities));
  const auto rows = CO_TRY(proven.rows().entities(account, request.table));
  const auto executor = co_await asio::this_coro::executor;
  CopiesPage page;
  page.beside = CO_TRY(read_beside(proven.rows(), account, request.beside));
  Copies copies(entities, request, proven, unsettled, page);
  const auto cursor = rows.rows->scan(range_of(rows.generation, request.rows));
  for (; cursor->valid() && page.next.empty(); cursor->next()) {
    if (copies.full()) {
      CO_TRY(copies.go_on_at(cursor->key()));
      break;
    }
    CO_TRY(copies.add(cursor->key(), cursor->value()));
    if (!copies.slice_over()) continue;
    CO_TRY(copies.end_slice());
    co_await asio::post(executor, asio::use_awaitable);
  }
  CO_TRY(cursor->status());
  CO_TRY(copies.end_slice());
  co_return page;
}

}  // namespace tidemark::table_store
