// Erases what is selected, or the copies that an operation wrote; see delete.h of the kind.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

struct EraseSpec : jobs::Selection {
  std::string table;
  std::string operation;  // instead of a selection: the copies that this operation wrote
};

Task<Result<JobOutcome>> run_erase(JobContext& context, EraseSpec spec);

}  // namespace tidemark::workers
