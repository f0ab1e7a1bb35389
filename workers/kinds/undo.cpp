#include "jobs/kinds/reach.h"
#include "workers/kinds/archive/mover.h"
#include "workers/kinds/delete.h"
#include "workers/kinds/undo_steps.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run(JobContext& context, jobs::UndoSpec spec) {
  auto reach = CO_TRY(co_await jobs::resolve(context.jobs, spec.reach()));
  if (reach.step == jobs::Step::kSteps) co_return co_await run_undo_steps(context, std::move(reach.operation));
  if (reach.step == jobs::Step::kErase) co_return co_await run_erase(context, std::move(reach));
  co_return co_await run_move(context, std::move(reach));
}

}  // namespace tidemark::workers
