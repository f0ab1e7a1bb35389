// Erases the selected entities, or the copies that an operation wrote; see delete.h of the kind.
#pragma once
#include "jobs/kinds/reach.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_erase(JobContext& context, jobs::Reach reach);

}  // namespace tidemark::workers
