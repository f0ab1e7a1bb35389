#include "workers/jobs/undo.h"

#include "jobs/undo_plan.h"
#include "workers/jobs/delete.h"
#include "workers/jobs/mover.h"

namespace tidemark::workers {

Task<Result<JobOutcome>> run_undo(JobContext& context, jobs::UndoSpec spec) {
  auto plan_task = jobs::plan_undo(context.jobs, std::move(spec.job));
  auto plan = co_await std::move(plan_task);
  if (!plan) co_return fail(std::move(plan.error()));
  if (plan->step == jobs::UndoStep::kErase) {
    EraseSpec erase;
    erase.table = std::move(plan->source);
    erase.operation = std::move(plan->operation);
    auto task = run_erase(context, std::move(erase));
    auto outcome = co_await std::move(task);
    co_return outcome;
  }
  MoveSpec move;
  move.source = std::move(plan->source);
  move.destination = std::move(plan->destination);
  move.archive = std::move(plan->archive);
  move.operation = std::move(plan->operation);
  move.back = plan->step == jobs::UndoStep::kRestore;
  auto task = run_move(context, std::move(move));
  auto outcome = co_await std::move(task);
  co_return outcome;
}

}  // namespace tidemark::workers
