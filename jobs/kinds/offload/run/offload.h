// Moves large properties of entities out to blobs (offload) and back (inline). The entity is never without the value:
//   offload  1. the blob, whole and durable, under a name that this job alone uses for this version of the entity
//            2. the entity with links (jobs/kinds/offload/blob_link.h) in place of the values, if it still is that
//            version
//   inline   1. the entity with the values in place of the links, if it still is the version that was read
//            2. the blobs erased, unless keepBlobs
// All fenced by (job, epoch). Before the first step the blobs of a few entities are noted in the message. Whoever finds
// a note erases those that their entity does not link to: an upload whose entity changed, a value that is back already.
// Nobody else can come to link to them, for their names hold job and version, and this job's earlier deliveries are
// fenced off. Entities that change are read again.
//   checkpoint {"continuation":C,"loose":[[pk,rk,container,name],...],"skips":[...]}
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_offload(JobContext& context, jobs::OffloadSpec spec);
Task<Result<JobOutcome>> run_inline(JobContext& context, jobs::InlineSpec spec);

}  // namespace tidemark::workers
