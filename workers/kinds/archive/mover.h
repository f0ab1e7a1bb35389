// Moves entities from one side to another: archive, unarchive, the undo of either, and rekey. A side is a table,
// documents or parts (workers/kinds/archive/side.h). Per unit:
//   1. put-if-newer into the destination, carrying a version
//   2. remove from the source the version that was copied
// Both are fenced by (job, epoch). An entity that changed in between is read and copied again, so no entity is removed
// whose newest version is not in the destination. The puts of a page are noted durably in the message before the first
// copy: a delivery that takes over completes those moves even if an entity has since changed and no longer matches the
// filter.
// The removal from the source decides which job owns an entity. A job that has put a copy and finds the entity gone,
// though its ledger has not counted that removal, takes its copy back. So a copy has one owner, the job that wrote it:
// another job that finds the copy skips the entity while the owner lives. A job that was sent back from poison takes
// nothing back, because other jobs did not wait for it.
//   forth (archive)    carries the version that was read. In the way: an entity that was put into the destination
//                      directly, or a newer version.
//   back (unarchive)   carries the version that was archived, so an entity written since then stays and its archived
//                      copy too. The restored entity has a new version of its own: an archive job that copied the old
//                      one cannot remove it.
//   checkpoint {"continuation":C,"pending":NOTE,"doneBefore":N,"skips":[...]}     NOTE: the destination's own
// Fails with kTableNotFound (source), kMaxAffectedExceeded, kFenced, kLeaseLost, kCancelled,
// kUpdateConditionNotSatisfied (entities that others kept changing) and the errors of the clients.
#pragma once
#include <memory>

#include "jobs/kinds/reach.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

class Side;

/// `reach` names the source, the destination and the selection, and by its step (kArchive, kRestore) whether the move
/// goes forth or back. kJobInvalid: this worker cannot reach the places that the job names.
Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach);
/// Does the same between these sides (rekey).
Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach, std::unique_ptr<Side> from,
                                  std::unique_ptr<Side> to);

}  // namespace tidemark::workers
