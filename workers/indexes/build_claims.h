// Index jobs make their rows as the owners of indexes do, and while such a job runs, it follows its source. One job at
// a time may write the rows of a destination: it has claimed them in the row 'owners' / "job DESTINATION" of the
// indexes' table, until it ends. Each delivery raises the epoch, so an earlier one writes nothing any more.
#pragma once
#include "indexes/store/index_store.h"
#include "workers/indexes/index_rows.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// The name by which the job of this destination follows its source and marks its rows.
std::string build_name(std::string_view destination);

/// The fences of this delivery's writes. kServerBusy if another job that has not ended has the destination.
Task<Result<Fences>> claim_build(JobContext& context, std::string source, std::string destination);
/// Stops following, and leaves the destination to others.
Task<Result<void>> release_build(JobContext& context, std::string source, std::string destination);
/// Does the same for jobs that were cancelled or became poison.
Task<Result<void>> release_ended_builds(JobServices services);

}  // namespace tidemark::workers
