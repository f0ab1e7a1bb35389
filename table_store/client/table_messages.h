// The bytes of the 'table.*' calls (common/base/bytes.h). Every request begins with the account. Decoding checks
// everything that comes in: kInvalidInput for a request or reply that does not have its form. Pure; any thread.
//
//   method                                    request after the account               reply
//   table.create, table.delete, table.exists  table                                   -, -, u8
//   table.list                                from                                    names, next?
//   table.get                                 table, pk, rk                           entity?
//   table.get_all                             table, pk, rks                          entities (u8 0, or u8 1 and it)
//   table.query                               table, filter, varint top, continuation, operation, u8 count only
//                                                                                     varint count, entities,
//                                                                                     continuation
//   table.delete_fenced                       table, fence                            -
//   table.forget                              operation id, varint 0                  -
//   table.mutate                              table, pk, mutations, fence?            outcomes
//   table.move_all                            moves                                   for each u16: 0, or the code
//   table.open, table.close, table.operation  operation id, varint epoch              ledger
//   table.count                               fence, varint amount                    ledger
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "table_store/client/table_client.h"

namespace tidemark::table_store {

struct TableRequest {
  std::string account, table;
};
struct ListRequest {
  std::string account, from;
};
struct GetRequest {
  std::string account, table, partition_key, row_key;
};
struct GetAllRequest {
  std::string account, table, partition_key;
  std::vector<std::string> row_keys;
};
struct QueryCall {
  std::string account;
  QueryRequest query;
};
struct MutateRequest {
  std::string account, table, partition_key;
  std::vector<Mutation> mutations;
  std::optional<Fence> fence;
};
struct MoveAllRequest {
  std::string account;
  std::vector<Move> moves;
};
struct FencedDeleteRequest {
  std::string account, table;
  Fence fence;
};
struct OperationRequest {
  std::string account, operation_id;
  std::uint64_t epoch = 0;
};
struct CountRequest {
  std::string account;
  Fence fence;
  std::uint64_t amount = 0;
};

std::string encode(const TableRequest& request);
std::string encode(const ListRequest& request);
std::string encode(const GetRequest& request);
std::string encode(const GetAllRequest& request);
std::string encode(const QueryCall& request);
std::string encode(const MutateRequest& request);
std::string encode(const MoveAllRequest& request);
std::string encode(const FencedDeleteRequest& request);
std::string encode(const OperationRequest& request);
std::string encode(const CountRequest& request);
Result<TableRequest> decode_table_request(std::string_view bytes);
Result<ListRequest> decode_list_request(std::string_view bytes);
Result<GetRequest> decode_get_request(std::string_view bytes);
Result<GetAllRequest> decode_get_all_request(std::string_view bytes);
Result<QueryCall> decode_query_request(std::string_view bytes);
Result<MutateRequest> decode_mutate_request(std::string_view bytes);
Result<MoveAllRequest> decode_move_all_request(std::string_view bytes);
Result<FencedDeleteRequest> decode_fenced_delete_request(std::string_view bytes);
Result<OperationRequest> decode_operation_request(std::string_view bytes);
Result<CountRequest> decode_count_request(std::string_view bytes);

std::string encode_exists_reply(bool exists);
Result<bool> decode_exists_reply(std::string_view bytes);
std::string encode_list_reply(const TablePage& page);
Result<TablePage> decode_list_reply(std::string_view bytes);
std::string encode_get_reply(const std::optional<Entity>& entity);
Result<std::optional<Entity>> decode_get_reply(std::string_view bytes);
std::string encode_get_all_reply(const std::vector<std::optional<Entity>>& entities);
Result<std::vector<std::optional<Entity>>> decode_get_all_reply(std::string_view bytes);
std::string encode_query_reply(const QueryPage& page);
Result<QueryPage> decode_query_reply(std::string_view bytes);
std::string encode_mutate_reply(const std::vector<MutationOutcome>& outcomes);
Result<std::vector<MutationOutcome>> decode_mutate_reply(std::string_view bytes);
/// Of a failure only the code travels.
std::string encode_move_all_reply(const std::vector<Result<void>>& outcomes);
Result<std::vector<Result<void>>> decode_move_all_reply(std::string_view bytes);
std::string encode_ledger_reply(const OperationLedger& ledger);
Result<OperationLedger> decode_ledger_reply(std::string_view bytes);

/// Text without spaces (base64), so that it can stand in JSON; empty for nothing.
std::string encode_continuation(const std::optional<Continuation>& next);
Result<std::optional<Continuation>> decode_continuation(std::string_view text);

}  // namespace tidemark::table_store
