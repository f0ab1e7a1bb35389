#include "jobs/kinds/own/own.h"

#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run(JobContext&, jobs::OwnSpec spec) {
  // The runner passes such a job on to the queue of its kind, where no worker of Tidemark's takes it.
  co_return fail(ErrorCode::kServerBusy, "Jobs of kind " + spec.kind + " are done by workers of yours.");
}

}  // namespace tidemark::workers
