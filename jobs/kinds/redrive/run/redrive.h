// Redrive: sends poison messages back, those that match and were there when the job was submitted, at most perSecond.
// With a canary, so many go first; then the job waits until all of their jobs have ended, without holding a worker, and
// goes on only if every one succeeded. Each message moves in one transaction with its id, so a repeat finds it gone.
//   checkpoint {"canaries":[job ids],"pending":[message ids],"sent":N,"passed":B}
// Fails with kCanaryFailed and what the stores report.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_redrive(JobContext& context, jobs::RedriveSpec spec);

}  // namespace tidemark::workers
