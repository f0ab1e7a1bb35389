// Index rebuild: makes an index table (index_pieces.h) hold exactly what a full scan of the source gives: collects
// value -> keys, writes the pieces that differ, removes pieces that should not be. Fenced by (job, epoch). Each piece
// carries as source version a store-wide version taken before the scan began, so of two rebuilds the one that read
// later wins, whatever the order of their writes; an interrupted rebuild scans again under a newer version. What is no
// piece is never replaced: where it stands in the way of one, the entities of that piece are skipped.
// Holds the keys in memory: at most kMaxIndexedEntities entities and kMaxIndexedBytes of keys and values, beyond which
// it fails with kOutOfRangeInput (permanent).
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

inline constexpr std::size_t kMaxIndexedEntities = 2'000'000;
inline constexpr std::size_t kMaxIndexedBytes = 512UL << 20;
/// Writes under way at once: each partition is its own transaction, and the store's group commit takes them together.
inline constexpr std::size_t kIndexLanes = 16;

Task<Result<JobOutcome>> run_index_rebuild(JobContext& context, jobs::IndexSpec spec);

}  // namespace tidemark::workers
