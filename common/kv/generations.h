// Generations: what belongs to a name (a table's entities, a queue's messages, a container's blobs) lives under a
// number that is never used again. Dropping all of it is one row, in the transaction that frees the name; what it held
// is erased in the background.
//   dropped generation   key: a byte of the store's, u64(generation)     value: empty
#pragma once
#include <functional>

#include "common/kv/engine.h"

namespace tidemark::kv {

void drop_generation(Transaction& txn, char kind, std::uint64_t generation);

/// Erases what a dropped generation holds; may be called again for one.
using EraseGeneration = std::function<Task<Result<void>>(std::uint64_t generation)>;
/// Erases all dropped generations and then their rows, so that a failure, which ends it, leaves the rest to the next
/// collection. `step` names the end of a row.
Task<Result<void>> collect_generations(Engine& engine, char kind, EraseGeneration erase, const FailStep& step);

}  // namespace tidemark::kv
