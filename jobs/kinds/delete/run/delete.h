// Erases what is selected, what an operation wrote, or a whole table; see delete.h of the kind.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

struct EraseSpec : jobs::Selection {
  std::string table;
  std::string operation;  // instead of a selection: the copies that this operation wrote
  bool whole_table = false;
};

Task<Result<JobOutcome>> run_erase(JobContext& context, EraseSpec spec);

}  // namespace tidemark::workers
