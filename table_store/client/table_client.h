// The table store as the workers and the api see it. Every call crosses a rpc::Transport, so it may fail with
// kDeadlineExceeded or kUnavailable without telling whether it took effect. Table names match whatever their case.
//   error field "index": position of the failing mutation in a failed `mutate`.
#pragma once
#include <memory>

#include "common/rpc/transport.h"
#include "table_store/model/move.h"
#include "table_store/model/mutation.h"
#include "table_store/model/query.h"

namespace tidemark::table_store {

class TableClient {
 public:
  /// Calls as `account`; the transport must outlive the client.
  TableClient(rpc::Transport& transport, std::string account) : transport_(transport), account_(std::move(account)) {}

  Task<Result<void>> create_table(std::string table);  // kTableAlreadyExists
  Task<Result<void>> delete_table(std::string table);  // kResourceNotFound
  /// In one transaction with the fence; counts 1 for the table. kResourceNotFound.
  Task<Result<void>> delete_table_fenced(std::string table, Fence fence);
  Task<Result<bool>> table_exists(std::string table);
  Task<Result<std::vector<std::string>>> list_tables();
  /// Nothing if there is no such entity; kTableNotFound.
  Task<Result<std::optional<Entity>>> get(std::string table, std::string partition_key, std::string row_key);
  /// Of 1..100 rows of one partition; not one snapshot.
  Task<Result<std::vector<std::optional<Entity>>>> get_all(std::string table, std::string partition_key,
                                                           std::vector<std::string> row_keys);
  Task<Result<QueryPage>> query(QueryRequest request);
  /// 1..100 mutations of distinct rows of one partition, atomically.
  Task<Result<std::vector<MutationOutcome>>> mutate(std::string table, std::string partition_key,
                                                    std::vector<Mutation> mutations, std::optional<Fence> fence);
  /// 1..100 moves, each a transaction of its own, and what became of each (storage/table_service.h).
  Task<Result<std::vector<Result<void>>>> move_all(std::vector<Move> moves);
  /// Raises the operation's epoch (kFenced if it is higher already or closed) and returns its ledger.
  Task<Result<OperationLedger>> open_operation(std::string operation_id, std::uint64_t epoch);
  Task<Result<OperationLedger>> close_operation(std::string operation_id, std::uint64_t epoch);
  Task<Result<OperationLedger>> read_operation(std::string operation_id);
  /// Removes the ledger if it is closed; for operations whose messages are gone for good.
  Task<Result<void>> forget_operation(std::string operation_id);
  /// Adds to counters of an open operation without any other effect (for skipped keys).
  Task<Result<OperationLedger>> count(Fence fence, std::uint64_t amount);

 private:
  Task<Result<std::string>> call(std::string method, std::string payload);
  rpc::Transport& transport_;
  std::string account_;
};

}  // namespace tidemark::table_store
