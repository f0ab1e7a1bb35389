// Copy: denormalised copies beside the original, all properties or some, under keys made by templates. Put-if-newer
// with the version of the original, fenced by (job, epoch); the original is never touched, and neither is an entity in
// the destination that is no copy. Within one table, copies are not copied again. Originals whose keys come out the
// same share one copy: the newest's.
//   checkpoint {"continuation":C,"done":N,"skips":[...]}     done: originals whose copy is there, of finished pages
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_copy(JobContext& context, jobs::CopySpec spec);

}  // namespace tidemark::workers
