// Generations: the contents of a name, such as a table's entities, a queue's messages or a container's blobs, are
// stored under a number that is never reused. Dropping all of them takes one row, in the transaction that frees the
// name; the contents are erased in the background.
//   dropped generation   key: a byte of the store, u64(generation)     value: empty
#pragma once
#include <functional>

#include "common/kv/engine.h"

namespace tidemark::kv {

void drop_generation(Transaction& txn, char kind, std::uint64_t generation);

/// Erases the contents of a dropped generation; may be called again for the same one.
using EraseGeneration = std::function<Task<Result<void>>(std::uint64_t generation)>;
/// Erases the contents of all dropped generations and then their rows. After a failure, the next collection does the
/// rest. `step` names the removal of a row.
Task<Result<void>> collect_generations(Engine& engine, char kind, EraseGeneration erase, const FailStep& step);

}  // namespace tidemark::kv
