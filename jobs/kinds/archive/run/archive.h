// The kinds that move entities: archive to another table, unarchive back. See mover.h.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec);
Task<Result<JobOutcome>> run_unarchive(JobContext& context, jobs::UnarchiveSpec spec);

}  // namespace tidemark::workers
