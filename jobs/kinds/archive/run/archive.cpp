#include "jobs/kinds/archive/archive.h"

#include "jobs/kinds/archive/run/mover.h"

namespace tidemark::workers {

MoveSpec move_of(jobs::Reach reach) {
  MoveSpec move;
  static_cast<jobs::Selection&>(move) = std::move(reach.selection);
  move.source = std::move(reach.from.table);
  move.destination = std::move(reach.to.table);
  move.back = reach.step == jobs::Step::kRestore;
  move.archive = std::move(move.back ? reach.from.archive : reach.to.archive);
  move.operation = std::move(reach.operation);
  return move;
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::ArchiveSpec spec) {
  return run_move(context, move_of(spec.reach()));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::UnarchiveSpec spec) {
  return run_move(context, move_of(spec.reach()));
}

}  // namespace tidemark::workers
