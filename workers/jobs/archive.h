// The kinds that move entities: archive to another table, unarchive back. See mover.h.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// The whole of a job of one entity as one call of the table store, if the job asks for nothing besides.
std::optional<table_store::Move> move_at_once(const jobs::JobSpec& spec);

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec);
Task<Result<JobOutcome>> run_unarchive(JobContext& context, jobs::UnarchiveSpec spec);

}  // namespace tidemark::workers
