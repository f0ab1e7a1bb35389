// Delete: removes one entity, those that a filter selects when their page is read, or a whole table. Each removal names
// the version that was read and is fenced by (job, epoch); an entity that changed meanwhile is looked at again, and
// stays if it matches no more. A whole table goes in one step, whose mark in the ledger keeps a later delivery from
// taking a table of the same name that was created since.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

struct EraseSpec : jobs::Selection {
  std::string table;
  std::string operation;  // instead of a selection: the copies that this operation wrote
};

Task<Result<JobOutcome>> run_erase(JobContext& context, EraseSpec spec);
Task<Result<JobOutcome>> run_delete(JobContext& context, jobs::DeleteSpec spec);

}  // namespace tidemark::workers
