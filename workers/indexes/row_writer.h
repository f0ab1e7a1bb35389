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

/// The way rows are written: under this fence. Missing tables are created, except for the source of the index, which
/// somebody has dropped: kTableNotFound.
struct RowWriting {
  table_store::TableClient& tables;
  Clock& clock;
  table_store::Fence fence;
  std::string source;
};

/// Each group is a transaction of its own, and no two groups share a row, so they are written in any order. The first
/// error ends the call; groups that were written before it stay written. The groups are unchanged afterwards, but
/// nobody else may use them meanwhile.
Task<Result<std::vector<Outcomes>>> write_groups(RowWriting writing,
                                                 std::vector<table_store::PartitionMutations>& groups);
/// Writes changes of different rows, in any order. The outcomes are in the order of the changes, which are unchanged
/// afterwards, too.
Task<Result<Outcomes>> write_rows(RowWriting writing, std::string table, std::vector<RowChange>& changes);

}  // namespace tidemark::workers
