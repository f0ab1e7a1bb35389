// Sends changes of rows in few calls. Coroutines resume on the caller's executor.
#pragma once
#include <string>
#include <vector>

#include "table_store/client/table_client.h"

namespace tidemark::workers {

/// A change of a row of one table.
struct RowChange {
  std::string partition_key;
  table_store::Mutation mutation;
};

using Outcomes = std::vector<table_store::MutationOutcome>;

/// How rows are written: under this fence. Tables that are missing are made, except for the source of the index, which
/// somebody has dropped: kTableNotFound.
struct RowWriting {
  table_store::TableClient& tables;
  Clock& clock;
  table_store::Fence fence;
  std::string source;
};

/// Each group is a transaction of its own, and of other rows than the rest: they are written in any order. The first
/// error ends it; what was written before stays. The groups are the same afterwards, but nobody else may use them
/// meanwhile.
Task<Result<std::vector<Outcomes>>> write_groups(RowWriting writing,
                                                 std::vector<table_store::PartitionMutations>& groups);
/// Changes of different rows, in any order. Their outcomes are in the order of the changes, of which the same is true.
Task<Result<Outcomes>> write_rows(RowWriting writing, std::string table, std::vector<RowChange>& changes);

}  // namespace tidemark::workers
