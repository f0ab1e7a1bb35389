// Index jobs write their rows as the owners of indexes do, and an index job follows its source while it runs. Only one
// job at a time may write the rows of a destination: it claims them in the row 'owners' / "job DESTINATION" of the
// indexes' table until it ends. Each delivery raises the epoch, so that an earlier delivery writes nothing any more.
#pragma once
#include "indexes/store/index_store.h"
#include "workers/indexes/index_rows.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// The name under which the job of this destination follows its source and marks its rows.
std::string build_name(std::string_view destination);

/// Returns the fences of this delivery's writes. kServerBusy if another job that has not ended has the destination.
Task<Result<Fences>> claim_build(JobContext& context, std::string source, std::string destination);
/// Stops following the source, and frees the destination for other jobs.
Task<Result<void>> release_build(JobContext& context, std::string source, std::string destination);
/// Does the same for jobs that were cancelled or became poison.
Task<Result<void>> release_ended_builds(JobServices services);

}  // namespace tidemark::workers
