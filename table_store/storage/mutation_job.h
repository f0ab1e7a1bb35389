// The steps of a transaction that changes entities, used by mutate and move. Private to storage/. They run on the
// engine's threads, within one transaction.
#pragma once
#include <map>
#include <set>

#include "table_store/storage/change_notes.h"
#include "table_store/storage/table_service.h"

namespace tidemark::table_store {

/// Changes of one partition that wait for the writer.
struct MutationJob {
  std::string account, table, partition_key;
  std::vector<Mutation> mutations;
  std::optional<Fence> fence;
  Version now = 0;
  // The mutations' properties as they will be stored, made before the writer's turn.
  std::vector<std::string> blocks = {};
  std::vector<MutationOutcome> outcomes = {};
  std::optional<std::size_t> at = {};  // the mutation at fault for an error, if there is one
  NotedFeeds feeds = {};
  TableShard* shard = nullptr;  // the shard that has the partition
  // As in common/shards/operation_ledgers.h, for the fence on this shard.
  bool entered = false, turned_away = false;
};

/// The state of repeated attempts, for jobs of one account and fence.
struct TableService::Preparation {
  static constexpr int kMostRounds = 8;  // in each, the table was dropped or made again
  int rounds = 0;
  std::map<std::size_t, Result<void>> entered;            // by shard
  std::set<std::pair<std::size_t, std::string>> brought;  // in this round
  void next_round() {
    ++rounds;
    brought.clear();
  }
};

/// Checks keys, properties and the members that the kind allows.
Result<void> check_mutation(std::string_view partition_key, const Mutation& mutation);

/// Returns the version for a transaction that begins; if the transaction writes, it stores the version under
/// kLastVersionKey. A version never ends in the digit 0: clients of WindowsAzure.Storage that ask for no metadata make
/// the ETag from the Timestamp with all seven digits, whereas the store's texts have no trailing zeros, so such an ETag
/// would not be the entity's.
Result<Version> next_version(const kv::Reader& reader, Version now);
/// A transaction under way that changes entities.
struct Writing {
  kv::Transaction& txn;
  Version version;
  ChangeNotes notes;
  Writing(kv::Transaction& in, Version at) : txn(in), version(at), notes(in, at) {}
};

/// Checks the condition of the job's index-th change, and makes the change and its note.
Result<MutationOutcome> apply_mutation(Writing& writing, const MutationJob& job, std::size_t index,
                                       const KnownTable& table);

}  // namespace tidemark::table_store
