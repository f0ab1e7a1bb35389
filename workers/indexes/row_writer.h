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

/// Each group is a transaction of its own. Makes tables that are missing, except for the source of the index, which
/// somebody has dropped: kTableNotFound. The first error ends it; what was written before stays.
Task<Result<std::vector<Outcomes>>> write_groups(table_store::TableClient& tables, table_store::Fence fence,
                                                 std::string source,
                                                 std::vector<table_store::PartitionMutations> groups);
/// Changes of different rows, in any order. Their outcomes are in the order of the changes.
Task<Result<Outcomes>> write_rows(table_store::TableClient& tables, table_store::Fence fence, std::string source,
                                  std::string table, std::vector<RowChange> changes);

}  // namespace tidemark::workers
