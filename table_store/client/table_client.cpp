#include "table_store/client/table_client.h"

#include "table_store/client/table_messages.h"

namespace tidemark::table_store {
namespace {
constexpr Duration kDeadline = std::chrono::seconds(10);
}

Task<Result<std::string>> TableClient::call(std::string method, std::string payload) {
  co_return co_await transport_.call(std::move(method), std::move(payload), kDeadline);
}

Task<Result<void>> TableClient::create_table(std::string table) {
  std::string method = "table.create";
  auto payload = encode(TableRequest{account_, std::move(table)});
  CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return Result<void>{};
}

Task<Result<void>> TableClient::delete_table(std::string table) {
  std::string method = "table.delete";
  auto payload = encode(TableRequest{account_, std::move(table)});
  CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return Result<void>{};
}

Task<Result<void>> TableClient::delete_table_fenced(std::string table, Fence fence) {
  std::string method = "table.delete_fenced";
  auto payload = encode(FencedDeleteRequest{account_, std::move(table), std::move(fence)});
  CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return Result<void>{};
}

Task<Result<void>> TableClient::forget_operation(std::string operation_id) {
  std::string method = "table.forget";
  auto payload = encode(OperationRequest{account_, std::move(operation_id), 0});
  CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return Result<void>{};
}

Task<Result<bool>> TableClient::table_exists(std::string table) {
  std::string method = "table.exists";
  auto payload = encode(TableRequest{account_, std::move(table)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_exists_reply(reply);
}

Task<Result<std::vector<std::string>>> TableClient::list_tables() {
  std::vector<std::string> names;
  std::optional<std::string> from = std::string();
  while (from) {
    std::string method = "table.list";
    auto payload = encode(ListRequest{account_, *from});
    auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
    auto page = CO_TRY(decode_list_reply(reply));
    std::move(page.names.begin(), page.names.end(), std::back_inserter(names));
    from = std::move(page.next);
  }
  co_return names;
}

Task<Result<std::optional<Entity>>> TableClient::get(std::string table, std::string partition_key,
                                                     std::string row_key) {
  std::string method = "table.get";
  auto payload = encode(GetRequest{account_, std::move(table), std::move(partition_key), std::move(row_key)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_get_reply(reply);
}

Task<Result<std::vector<std::optional<Entity>>>> TableClient::get_all(std::string table, std::string partition_key,
                                                                      std::vector<std::string> row_keys) {
  std::string method = "table.get_all";
  const auto asked = row_keys.size();
  auto payload = encode(GetAllRequest{account_, std::move(table), std::move(partition_key), std::move(row_keys)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  auto entities = decode_get_all_reply(reply);
  if (entities && entities->size() != asked) co_return fail(ErrorCode::kInternalError);
  co_return entities;
}

Task<Result<QueryPage>> TableClient::query(QueryRequest request) {
  std::string method = "table.query";
  auto payload = encode(QueryCall{account_, std::move(request)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_query_reply(reply);
}

Task<Result<std::vector<MutationOutcome>>> TableClient::mutate(std::string table, std::string partition_key,
                                                               std::vector<Mutation> mutations,
                                                               std::optional<Fence> fence) {
  std::string method = "table.mutate";
  auto payload = encode(
      MutateRequest{account_, std::move(table), std::move(partition_key), std::move(mutations), std::move(fence)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_mutate_reply(reply);
}

Task<Result<std::vector<Result<void>>>> TableClient::move_all(std::vector<Move> moves) {
  std::string method = "table.move_all";
  const auto asked = moves.size();
  auto payload = encode(MoveAllRequest{account_, std::move(moves)});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  auto outcomes = decode_move_all_reply(reply);
  if (outcomes && outcomes->size() != asked) co_return fail(ErrorCode::kInternalError);
  co_return outcomes;
}

Task<Result<OperationLedger>> TableClient::open_operation(std::string operation_id, std::uint64_t epoch) {
  std::string method = "table.open";
  auto payload = encode(OperationRequest{account_, std::move(operation_id), epoch});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_ledger_reply(reply);
}

Task<Result<OperationLedger>> TableClient::close_operation(std::string operation_id, std::uint64_t epoch) {
  std::string method = "table.close";
  auto payload = encode(OperationRequest{account_, std::move(operation_id), epoch});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_ledger_reply(reply);
}

Task<Result<OperationLedger>> TableClient::read_operation(std::string operation_id) {
  std::string method = "table.operation";
  auto payload = encode(OperationRequest{account_, std::move(operation_id), 0});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_ledger_reply(reply);
}

Task<Result<OperationLedger>> TableClient::count(Fence fence, std::uint64_t amount) {
  std::string method = "table.count";
  auto payload = encode(CountRequest{account_, std::move(fence), amount});
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_ledger_reply(reply);
}

}  // namespace tidemark::table_store
