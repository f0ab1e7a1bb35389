#include "jobs/kinds/archive/run/archive.h"

#include "jobs/kinds/archive/run/mover.h"

namespace tidemark::workers {
namespace {

template <class Spec>
MoveSpec move_of(Spec spec, bool back) {
  MoveSpec move;
  static_cast<jobs::Selection&>(move) = static_cast<jobs::Selection&>(spec);
  move.source = std::move(spec.source);
  move.destination = std::move(spec.destination);
  move.archive = std::move(spec.archive);
  move.back = back;
  return move;
}

}  // namespace

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec) {
  return run_move(context, move_of(std::move(spec), false));
}

Task<Result<JobOutcome>> run_unarchive(JobContext& context, jobs::UnarchiveSpec spec) {
  return run_move(context, move_of(std::move(spec), true));
}

}  // namespace tidemark::workers
