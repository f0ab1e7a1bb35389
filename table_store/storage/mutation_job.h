// The steps of a transaction that changes entities, used by mutate and move. Private to storage/. They run on the
// engine's threads, within one transaction.
#pragma once
#include "table_store/storage/table_directory.h"
#include "table_store/storage/table_service.h"

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
  std::optional<std::size_t> at = {};  // the mutation to blame for an error, if there is one
};

/// Checks keys, properties and which members the kind allows.
Result<void> check_mutation(std::string_view partition_key, const Mutation& mutation);

/// On the writer, the directory says what the transaction would read: an earlier drop is either still in progress, or
/// the table has left the directory.
Result<std::uint64_t> generation_of(const kv::Transaction& txn, TableDirectory& directory, std::string_view account,
                                    std::string_view table);
/// The version for a transaction that begins; if it writes, it stores the version under kLastVersionKey.
Result<Version> next_version(const kv::Reader& reader, Version now);
/// Checks the condition of the job's index-th change, in the table with this generation, and makes the change.
Result<MutationOutcome> apply_mutation(kv::Transaction& txn, const MutationJob& job, std::size_t index,
                                       std::uint64_t generation, Version version);

}  // namespace tidemark::table_store
