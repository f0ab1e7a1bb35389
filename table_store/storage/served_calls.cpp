#include "table_store/storage/served_calls.h"

#include <map>

#include "common/base/side_by_side.h"
#include "common/protocol/service_properties.h"
#include "table_store/model/limits.h"
#include "table_store/odata/listed_keys.h"

namespace tidemark::table_store {
namespace {

std::function<bool(const EntityView&)> collector_of(QueryPage& page, bool count_only, const Selection& selection) {
  if (count_only) return [](const EntityView&) { return true; };
  return [&page, &selection, bytes = std::size_t{0}](const EntityView& entity) mutable {
    bytes += entity.partition_key.size() + entity.row_key.size() + entity.block.size();
    page.entities.push_back(entity.to_entity(selection));
    return bytes < kMaxReplyBytes;
  };
}

}  // namespace

namespace handlers {

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

Task<Result<calls::MutateAll::Reply>> mutate_on(TableService& service, calls::MutateOn call) {
  return service.mutate_all(std::move(call.account), std::move(call.partitions), std::move(call.fence));
}

Task<Result<calls::MutateAll::Reply>> mutate_all(TableService& service, calls::MutateAll call) {
  if (!service.is_shared()) {
    co_return co_await service.mutate_all(std::move(call.account), std::move(call.partitions), std::move(call.fence));
  }
  std::map<std::size_t, std::vector<std::size_t>> of_shards;  // the places of the shards' partitions in the call
  for (std::size_t i = 0; i < call.partitions.size(); ++i) {
    const auto& partition = call.partitions[i];
    of_shards[service.shard_of(call.account, partition.table, partition.partition_key)].push_back(i);
  }
  if (of_shards.empty()) co_return fail(ErrorCode::kInvalidInput);
  const std::vector<std::pair<std::size_t, std::vector<std::size_t>>> parts(of_shards.begin(), of_shards.end());
  calls::MutateAll::Reply outcomes(call.partitions.size());
  const Step make = [&](std::size_t number) -> Task<Result<void>> {
    const auto& [shard, places] = parts[number];
    calls::MutateOn part{shard, call.account, {}, call.fence};
    for (const auto place : places) part.partitions.push_back(std::move(call.partitions[place]));
    auto made = co_await service.call(std::move(part));
    if (made && made->size() != places.size()) co_return fail(ErrorCode::kInternalError);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (made) {
        outcomes[places[i]] = std::move((*made)[i]);
      } else {
        outcomes[places[i]] = fail(made.error());
      }
    }
    co_return Result<void>{};
  };
  CO_TRY(co_await side_by_side(service.clock(), parts.size(), make, parts.size()));
  co_return outcomes;
}

Task<Result<void>> set_service_properties(TableService& service, calls::SetServiceProperties call) {
  co_return co_await service.set_service_properties(std::move(call.account), [&](const std::string& stored) {
    return protocol::merge_service_properties(protocol::StoreKind::kTable, stored, call.document);
  });
}

}  // namespace handlers

Task<MutationResult<TableService::MutateResult>> TableService::mutate_anywhere(std::string account, std::string table,
                                                                               std::string partition_key,
                                                                               std::vector<Mutation> mutations,
                                                                               std::optional<Fence> fence) {
  if (is_here(shard_of(account, table, partition_key))) {
    co_return co_await mutate(std::move(account), std::move(table), std::move(partition_key), std::move(mutations),
                              std::move(fence));
  }
  MutateResult result;
  for (const auto& mutation : mutations) result.blocks.push_back(property_block(mutation.properties));
  calls::Mutate elsewhere{std::move(account), std::move(table), std::move(partition_key), std::move(mutations),
                          std::move(fence)};
  auto reply = co_await call(std::move(elsewhere));
  if (!reply) co_return std::unexpected(MutationError(std::move(reply.error())));
  if (auto* const failure = std::get_if<calls::MutationFailure>(&*reply)) {
    co_return std::unexpected(MutationError(std::move(failure->error), failure->index));
  }
  result.outcomes = std::get<std::vector<MutationOutcome>>(std::move(*reply));
  co_return result;
}

}  // namespace tidemark::table_store
