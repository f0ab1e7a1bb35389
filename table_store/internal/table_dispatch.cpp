#include "table_store/internal/table_dispatch.h"

#include "common/base/encoding.h"
#include "common/rpc/call.h"
#include "table_store/client/listing_client.h"
#include "table_store/client/table_calls.h"
#include "table_store/model/limits.h"
#include "table_store/odata/listed_keys.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

Task<Result<bool>> exists(TableService& service, calls::TableExists call) {
  auto found = co_await service.find_table(std::move(call.account), std::move(call.table));
  if (found.failed_with(ErrorCode::kTableNotFound)) co_return false;
  CO_TRY(std::move(found));
  co_return true;
}

Task<Result<TablePage>> list(TableService& service, calls::ListTables call) {
  return service.list_tables(std::move(call.account), {}, kMaxPageEntities, std::move(call.from));
}

Result<std::vector<std::optional<Entity>>> get_all(TableService& service, const calls::GetAll& call) {
  if (call.row_keys.size() > kMaxGets) return fail(ErrorCode::kInvalidInput);
  std::vector<std::optional<Entity>> entities;
  entities.reserve(call.row_keys.size());
  for (const auto& row_key : call.row_keys) {
    entities.push_back(TRY(service.get(call.account, call.table, call.partition_key, row_key)));
  }
  return entities;
}

std::function<bool(const EntityView&)> collector_of(QueryPage& page, bool count_only, const Selection& selection) {
  if (count_only) return [](const EntityView&) { return true; };
  return [&page, &selection, bytes = std::size_t{0}](const EntityView& entity) mutable {
    bytes += entity.partition_key.size() + entity.row_key.size() + entity.block.size();
    page.entities.push_back(entity.to_entity(selection));
    return bytes < kMaxReplyBytes;
  };
}

Task<Result<QueryPage>> query(TableService& service, calls::Query call) {
  auto& request = call.query;
  if (request.top > kMaxPageEntities) co_return fail(ErrorCode::kInvalidInput);
  CO_TRY(check_selection(request.selection));
  Query query;
  query.filter = CO_TRY(Filter::parse(request.filter));
  query.from = CO_TRY(continuation_in(request.continuation));
  query.table = std::move(request.table);
  query.top = request.top;
  query.operation = std::move(request.operation);
  query.follower = std::move(request.follower);
  query.sources_only = request.sources_only;
  query.patience = request.patience;
  if (request.by_lists) query.keys_in = &listed_keys;
  QueryPage page;
  auto collect = collector_of(page, request.count_only, request.selection);
  auto done = CO_TRY(co_await service.query(std::move(call.account), std::move(query), std::move(collect)));
  page.count = done.count;
  page.searched = done.searched;
  page.index = std::move(done.index);
  page.continuation = text_of(done.next);
  co_return page;
}

Task<Result<calls::Mutate::Reply>> mutate(TableService& service, calls::Mutate call) {
  auto done = co_await service.mutate(std::move(call.account), std::move(call.table), std::move(call.partition_key),
                                      std::move(call.mutations), std::move(call.fence));
  if (done) co_return std::move(done->outcomes);
  if (const auto index = done.error().index) co_return calls::MutationFailure{std::move(done.error()), *index};
  co_return fail(std::move(done.error()));
}

Task<Result<ListedPage>> find_listed(TableService& service, calls::FindListed call) {
  return service.find_listed(std::move(call.account), std::move(call.request), &listed_keys);
}

using Face = rpc::Face<TableService>;
constexpr Face::Handler kHandlers[] = {
    Face::on<calls::Get, &TableService::get>(),
    Face::on<calls::GetAll, &get_all>(),
    Face::on<calls::Query, &query>(),
    Face::on<calls::Mutate, &mutate>(),
    Face::on<calls::MutateAll, &TableService::mutate_all>(),
    Face::on<calls::FindRows, &TableService::find_rows>(),
    Face::on<calls::FindListed, &find_listed>(),
    Face::on<calls::FindCopies, &TableService::find_copies>(),
    Face::on<calls::Follow, &TableService::follow>(),
    Face::on<calls::Unfollow, &TableService::unfollow>(),
    Face::on<calls::Followers, &TableService::followers>(),
    Face::on<calls::FollowedTables, &TableService::followed_tables>(),
    Face::on<calls::ChangedEntities, &TableService::changed_entities>(),
    Face::on<calls::Acknowledge, &TableService::acknowledge>(),
    Face::on<calls::PutFeed, &TableService::put_feed>(),
    Face::on<calls::DropFeed, &TableService::drop_feed>(),
    Face::on<calls::GetFeed, &TableService::feed_status>(),
    Face::on<calls::ReadChanges, &TableService::changes>(),
    Face::on<calls::MoveAll, &TableService::move_all>(),
    Face::on<calls::OpenOperation, &TableService::open_operation>(),
    Face::on<calls::CloseOperation, &TableService::close_operation>(),
    Face::on<calls::ReadOperation, &TableService::read_operation>(),
    Face::on<calls::AgeNow, &TableService::age_now>(),
    Face::on<calls::ForgetOperation, &TableService::forget_operation>(),
    Face::on<calls::Count, &TableService::count>(),
    Face::on<calls::CreateTable, &TableService::create_table>(),
    Face::on<calls::DeleteTable, &TableService::delete_table>(),
    Face::on<calls::DeleteTableFenced, &TableService::delete_table_fenced>(),
    Face::on<calls::TableExists, &exists>(),
    Face::on<calls::ListTables, &list>(),
};

}  // namespace

rpc::Dispatch make_table_dispatch(TableService& service) { return rpc::make_dispatch(service, kHandlers); }

}  // namespace tidemark::table_store
