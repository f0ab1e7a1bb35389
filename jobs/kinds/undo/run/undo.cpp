#include "jobs/kinds/undo/run/undo.h"

#include "jobs/kinds/archive/run/mover.h"
#include "jobs/kinds/delete/run/delete.h"
#include "jobs/kinds/undo/undo_plan.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_undo(JobContext& context, jobs::UndoSpec spec) {
  auto plan = CO_TRY(co_await jobs::plan_undo(context.jobs, std::move(spec.job)));
  if (plan.step == jobs::UndoStep::kErase) {
    EraseSpec erase;
    erase.table = std::move(plan.source);
    erase.operation = std::move(plan.operation);
    co_return co_await run_erase(context, std::move(erase));
  }
  MoveSpec move;
  move.source = std::move(plan.source);
  move.destination = std::move(plan.destination);
  move.archive = std::move(plan.archive);
  move.operation = std::move(plan.operation);
  move.back = plan.step == jobs::UndoStep::kRestore;
  co_return co_await run_move(context, std::move(move));
}

}  // namespace tidemark::workers
