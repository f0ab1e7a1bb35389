// POST $batch: entity group transactions, and the single query that a batch may hold instead.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// The partition that a batch changes, from the first operation: the entities of all others are in it too, or the batch
/// is refused.
struct ChangedPartition {
  std::string table, partition_key;
};
/// Returns nothing if the batch changes nothing or cannot be understood.
std::optional<ChangedPartition> partition_of_batch(const Call& call, std::string_view body);

/// Answers 202 if the batch is well-formed and authorized, even if an operation failed.
Answer serve_batch(Call& call);

}  // namespace tidemark::table_store
