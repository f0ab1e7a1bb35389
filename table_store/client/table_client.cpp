#include "table_store/client/table_client.h"

#include "common/rpc/call.h"
#include "table_store/client/table_calls.h"

namespace tidemark::table_store {
namespace {
constexpr Duration kDeadline = std::chrono::seconds(10);
}

Task<Result<void>> TableClient::create_table(std::string table) {
  return rpc::call(transport_, calls::CreateTable{account_, std::move(table)}, kDeadline);
}

Task<Result<void>> TableClient::delete_table(std::string table) {
  return rpc::call(transport_, calls::DeleteTable{account_, std::move(table)}, kDeadline);
}

Task<Result<void>> TableClient::delete_table_fenced(std::string table, Fence fence) {
  return rpc::call(transport_, calls::DeleteTableFenced{account_, std::move(table), std::move(fence)}, kDeadline);
}

Task<Result<void>> TableClient::forget_operation(std::string operation_id) {
  return rpc::call(transport_, calls::ForgetOperation{account_, std::move(operation_id)}, kDeadline);
}

Task<Result<bool>> TableClient::table_exists(std::string table) {
  return rpc::call(transport_, calls::TableExists{account_, std::move(table)}, kDeadline);
}

Task<Result<std::vector<std::string>>> TableClient::list_tables() {
  std::vector<std::string> names;
  std::optional<std::string> from = std::string();
  while (from) {
    auto page = CO_TRY(co_await rpc::call(transport_, calls::ListTables{account_, *from}, kDeadline));
    std::move(page.names.begin(), page.names.end(), std::back_inserter(names));
    from = std::move(page.next);
  }
  co_return names;
}

Task<Result<std::optional<Entity>>> TableClient::get(std::string table, std::string partition_key,
                                                     std::string row_key) {
  return rpc::call(transport_, calls::Get{account_, std::move(table), std::move(partition_key), std::move(row_key)},
                   kDeadline);
}

Task<Result<std::vector<std::optional<Entity>>>> TableClient::get_all(std::string table, std::string partition_key,
                                                                      std::vector<std::string> row_keys) {
  const calls::GetAll all{account_, std::move(table), std::move(partition_key), std::move(row_keys)};
  auto entities = CO_TRY(co_await rpc::call(transport_, all, kDeadline));
  if (entities.size() != all.row_keys.size()) co_return fail(ErrorCode::kInternalError);
  co_return entities;
}

Task<Result<QueryPage>> TableClient::query(QueryRequest request) {
  return rpc::call(transport_, calls::Query{account_, std::move(request)}, kDeadline);
}

Task<Result<std::vector<MutationOutcome>>> TableClient::mutate(std::string table, std::string partition_key,
                                                               std::vector<Mutation> mutations,
                                                               std::optional<Fence> fence) {
  return rpc::call(
      transport_,
      calls::Mutate{account_, std::move(table), std::move(partition_key), std::move(mutations), std::move(fence)},
      kDeadline);
}

Task<Result<std::vector<Result<void>>>> TableClient::move_all(std::vector<Move> moves) {
  const auto asked = moves.size();
  auto outcomes = CO_TRY(co_await rpc::call(transport_, calls::MoveAll{account_, std::move(moves)}, kDeadline));
  if (outcomes.size() != asked) co_return fail(ErrorCode::kInternalError);
  co_return outcomes;
}

Task<Result<OperationLedger>> TableClient::open_operation(std::string operation_id, std::uint64_t epoch) {
  return rpc::call(transport_, calls::OpenOperation{account_, std::move(operation_id), epoch}, kDeadline);
}

Task<Result<OperationLedger>> TableClient::close_operation(std::string operation_id, std::uint64_t epoch) {
  return rpc::call(transport_, calls::CloseOperation{account_, std::move(operation_id), epoch}, kDeadline);
}

Task<Result<OperationLedger>> TableClient::read_operation(std::string operation_id) {
  return rpc::call(transport_, calls::ReadOperation{account_, std::move(operation_id)}, kDeadline);
}

Task<Result<OperationLedger>> TableClient::count(Fence fence, std::uint64_t amount) {
  return rpc::call(transport_, calls::Count{account_, std::move(fence), amount}, kDeadline);
}

}  // namespace tidemark::table_store
