// From a kind to the function that does its work: one file a kind beside this one.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_work(JobContext& context, jobs::JobWork work);

}  // namespace tidemark::workers
