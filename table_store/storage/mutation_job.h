// The steps of a transaction that changes entities, shared by the operations that have such: mutate and move. Private
// to storage/. They run on the engine's writer, over one transaction.
#pragma once
#include "table_store/storage/service_impl.h"

namespace tidemark::table_store {

/// Changes of one partition, as they wait for the writer.
struct MutationJob {
  std::string account, table, partition_key;
  std::vector<Mutation> mutations;
  std::optional<Fence> fence;
  Version now = 0;
  // The mutations' properties as they will be stored, made before the writer's turn.
  std::vector<std::string> blocks = {};
  std::vector<MutationOutcome> outcomes = {};
};

/// Keys, properties and the members that its kind allows.
Result<void> check_mutation(std::string_view partition_key, const Mutation& mutation);
std::string block_of(const Mutation& mutation);

/// What the directory says on the writer is what the transaction would read: a drop ahead of it is still in progress
/// or has left the directory.
Result<std::uint64_t> generation_of(const kv::Transaction& txn, TableDirectory& directory, std::string_view account,
                                    std::string_view table);
/// Of a transaction that begins: whoever writes with it stores it under kLastVersionKey.
Result<Version> next_version(const kv::Reader& reader, Version now);
/// Judges the condition of the job's index-th change in the table of this generation, and makes it.
Result<MutationOutcome> apply_mutation(kv::Transaction& txn, const MutationJob& job, std::size_t index,
                                       std::uint64_t generation, Version version);

}  // namespace tidemark::table_store
