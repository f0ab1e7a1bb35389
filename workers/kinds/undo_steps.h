// Takes back the steps of a transaction.
#pragma once
#include <string>

#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// Restores, from the last step to the first, the entities that the transaction `job_id` changed, as far as nobody has
/// changed them since. Its result lists the steps that stay. A transaction that is poison can never go on afterwards.
Task<Result<JobOutcome>> run_undo_steps(JobContext& context, std::string job_id);

}  // namespace tidemark::workers
