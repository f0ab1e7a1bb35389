#include "table_store/internal/table_dispatch.h"

#include "table_store/client/table_messages.h"
#include "table_store/model/limits.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {
namespace {

using Reply = Result<std::string>;
// Well under the wire's bound on a message, with room for one more entity of the largest size.
constexpr std::size_t kMaxPageBytes = 4UL << 20;

Task<Reply> create(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_table_request(payload));
  CO_TRY(co_await service.create_table(std::move(request.account), std::move(request.table)));
  co_return std::string();
}

Task<Reply> drop(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_table_request(payload));
  CO_TRY(co_await service.delete_table(std::move(request.account), std::move(request.table)));
  co_return std::string();
}

Task<Reply> drop_fenced(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_fenced_delete_request(payload));
  auto task =
      service.delete_table_fenced(std::move(request.account), std::move(request.table), std::move(request.fence));
  CO_TRY(co_await std::move(task));
  co_return std::string();
}

Task<Reply> exists(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_table_request(payload));
  auto found = co_await service.find_table(std::move(request.account), std::move(request.table));
  if (!found && !found.failed_with(ErrorCode::kTableNotFound)) co_return fail(std::move(found.error()));
  co_return encode_exists_reply(found.has_value());
}

Task<Reply> list(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_list_request(payload));
  Filter all;
  auto task =
      service.list_tables(std::move(request.account), std::move(all), kMaxPageEntities, std::move(request.from));
  auto page = CO_TRY(co_await std::move(task));
  co_return encode_list_reply(page);
}

Task<Reply> get(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_get_request(payload));
  auto found = CO_TRY(service.get(request.account, request.table, request.partition_key, request.row_key));
  co_return encode_get_reply(found);
}

Task<Reply> get_all(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_get_all_request(payload));
  std::vector<std::optional<Entity>> entities;
  for (const auto& row_key : request.row_keys) {
    auto found = CO_TRY(service.get(request.account, request.table, request.partition_key, row_key));
    entities.push_back(std::move(found));
  }
  co_return encode_get_all_reply(entities);
}

Query query_of(QueryCall call, Filter filter, std::optional<Continuation> from) {
  Query query;
  query.table = std::move(call.query.table);
  query.filter = std::move(filter);
  query.top = call.query.top;
  query.from = std::move(from);
  query.operation = std::move(call.query.operation);
  return query;
}

std::function<bool(const EntityView&)> collector_of(QueryPage& page, bool count_only) {
  if (count_only) return [](const EntityView&) { return true; };
  return [&page, bytes = std::size_t{0}](const EntityView& entity) mutable {
    bytes += entity.partition_key.size() + entity.row_key.size() + entity.block.size();
    page.entities.push_back(entity.to_entity());
    return bytes < kMaxPageBytes;
  };
}

Task<Reply> query(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_query_request(payload));
  auto filter = CO_TRY(Filter::parse(request.query.filter));
  auto from = CO_TRY(decode_continuation(request.query.continuation));
  auto account = std::move(request.account);
  const bool count_only = request.query.count_only;
  auto query = query_of(std::move(request), std::move(filter), std::move(from));
  QueryPage page;
  auto each = collector_of(page, count_only);
  auto done = CO_TRY(co_await service.query(std::move(account), std::move(query), std::move(each)));
  page.count = done.count;
  page.continuation = encode_continuation(done.next);
  co_return encode_query_reply(page);
}

Task<Reply> mutate(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_mutate_request(payload));
  auto done = CO_TRY(co_await service.mutate(std::move(request.account), std::move(request.table),
                                             std::move(request.partition_key), std::move(request.mutations),
                                             std::move(request.fence)));
  co_return encode_mutate_reply(done.outcomes);
}

Task<Reply> move_all(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_move_all_request(payload));
  auto done = CO_TRY(co_await service.move_all(std::move(request.account), std::move(request.moves)));
  co_return encode_move_all_reply(done);
}

using OperationCall = Task<Result<OperationLedger>> (TableService::*)(std::string, std::string, std::uint64_t);

template <OperationCall step>
Task<Reply> operation(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_operation_request(payload));
  auto done =
      CO_TRY(co_await (service.*step)(std::move(request.account), std::move(request.operation_id), request.epoch));
  co_return encode_ledger_reply(done);
}

Task<Reply> read_operation(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_operation_request(payload));
  auto done = CO_TRY(co_await service.read_operation(std::move(request.account), std::move(request.operation_id)));
  co_return encode_ledger_reply(done);
}

Task<Reply> forget(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_operation_request(payload));
  CO_TRY(co_await service.forget_operation(std::move(request.account), std::move(request.operation_id)));
  co_return std::string();
}

Task<Reply> count(TableService& service, std::string payload) {
  auto request = CO_TRY(decode_count_request(payload));
  auto done = CO_TRY(co_await service.count(std::move(request.account), std::move(request.fence), request.amount));
  co_return encode_ledger_reply(done);
}

Task<Reply> unknown(TableService&, std::string) { co_return fail(ErrorCode::kNotImplemented); }

using Handler = Task<Reply> (*)(TableService&, std::string);
constexpr std::pair<std::string_view, Handler> kHandlers[] = {
    {"table.get", &get},
    {"table.get_all", &get_all},
    {"table.mutate", &mutate},
    {"table.move_all", &move_all},
    {"table.query", &query},
    {"table.open", &operation<&TableService::open_operation>},
    {"table.close", &operation<&TableService::close_operation>},
    {"table.operation", &read_operation},
    {"table.count", &count},
    {"table.create", &create},
    {"table.delete", &drop},
    {"table.delete_fenced", &drop_fenced},
    {"table.forget", &forget},
    {"table.exists", &exists},
    {"table.list", &list},
};

Handler handler_of(std::string_view method) {
  for (const auto& [name, handler] : kHandlers) {
    if (name == method) return handler;
  }
  return &unknown;
}

}  // namespace

rpc::Dispatch make_table_dispatch(TableService& service) {
  // Not a coroutine itself: it hands out one that owns its arguments.
  return [&service](std::string method, std::string payload) -> Task<Reply> {
    return handler_of(method)(service, std::move(payload));
  };
}

}  // namespace tidemark::table_store
