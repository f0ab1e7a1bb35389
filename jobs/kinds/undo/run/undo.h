// Undo: takes back what an archive, unarchive, undo or copy job did, as far as it still is as that job left it: an
// entity that anybody has written since stays. See jobs/kinds/undo/undo_plan.h and mover.h.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_undo(JobContext& context, jobs::UndoSpec spec);

}  // namespace tidemark::workers
