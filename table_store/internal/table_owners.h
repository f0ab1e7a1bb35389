// Finds the shards of calls of workers and the api, where processes share the shards (docs/scale.md, Owners).
#pragma once
#include <optional>
#include <string_view>

#include "common/kv/owner_calls.h"
#include "common/rpc/transport.h"
#include "table_store/client/table_calls.h"

namespace tidemark::table_store {

class TableService;

/// Returns the shard that a call belongs to, by its method and payload; nothing: any process answers it.
std::optional<std::size_t> shard_of_call(const TableService& service, std::string_view method,
                                         std::string_view payload);

/// Answers calls that concern several shards, or none that is shared. Thread safe.
class TableOwners {
 public:
  /// All arguments must outlive it.
  TableOwners(TableService& service, kv::OwnerCalls& owners, Clock& clock);
  /// Answers those calls, and the others by `face`. Must not outlive this.
  rpc::Dispatch around(rpc::Dispatch face);

 private:
  /// Sends each shard's part to the process that serves the shard, all of them side by side.
  Task<Result<calls::MutateAll::Reply>> mutate_all(calls::MutateAll call);
  Task<Result<std::string>> answer_mutate_all(std::string payload);

  TableService& service_;
  kv::OwnerCalls& owners_;
  Clock& clock_;
};

}  // namespace tidemark::table_store
