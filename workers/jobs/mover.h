// Moves entities from one table to another: archive, unarchive, and the undo of either. Per group of one partition:
//   1. put-if-newer into the destination, carrying a version
//   2. erase from the source the version that was copied
// Both fenced by (job, epoch). An entity that changed in between is read and copied again, so nothing is removed whose
// newest version is not in the destination. The keys of a page are noted durably in the message before its first copy:
// a delivery that takes over completes those moves even if an entity has since changed to match the filter no more.
//   forth (archive)    carries the version that was read. In the way: what was put into the destination directly.
//   back (unarchive)   carries the version that was archived, so an entity written since then stays and its archived
//                      copy too. The restored entity has a new version of its own: an archive job that copied the old
//                      one cannot remove it.
//   checkpoint {"continuation":C,"pending":[[pk,rk],...],"skips":[...]}
// Fails with kTableNotFound (source), kMaxAffectedExceeded, kFenced, kLeaseLost, kCancelled,
// kUpdateConditionNotSatisfied (entities that others kept changing) and whatever the clients report.
#pragma once
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

struct MoveSpec : jobs::Selection {
  std::string source;
  std::string destination;
  std::string operation;  // instead of a selection: the copies that this operation wrote
  bool back = false;
};

Task<Result<JobOutcome>> run_move(JobContext& context, MoveSpec spec);

}  // namespace tidemark::workers
