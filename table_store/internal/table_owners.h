// What calls of workers and the api are about, where processes share the shards of the tables (docs/scale.md, Owners).
#pragma once
#include <optional>
#include <string_view>

#include "common/kv/owner_calls.h"
#include "common/rpc/transport.h"
#include "table_store/client/table_calls.h"

namespace tidemark::table_store {

class TableService;

/// Where a call belongs, by its method and what it says; nothing: any process answers it.
std::optional<std::size_t> shard_of_call(const TableService& service, std::string_view method,
                                         std::string_view payload);

/// Calls that concern several shards, or none that is shared. Thread safe.
class TableOwners {
 public:
  /// All must outlive it.
  TableOwners(TableService& service, kv::OwnerCalls& owners, Clock& clock);
  /// Answers those, and the others by `face`. Must not outlive this.
  rpc::Dispatch around(rpc::Dispatch face);

 private:
  /// Each shard's part is made by the process that serves the shard, all of them side by side.
  Task<Result<calls::MutateAll::Reply>> mutate_all(calls::MutateAll call);
  Task<Result<std::string>> answer_mutate_all(std::string payload);

  TableService& service_;
  kv::OwnerCalls& owners_;
  Clock& clock_;
};

}  // namespace tidemark::table_store
