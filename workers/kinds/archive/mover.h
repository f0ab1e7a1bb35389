// Moves entities from one side to another: archive, unarchive, the undo of either, and rekey. A side is a table,
// documents or parts (workers/kinds/archive/side.h). Per unit:
//   1. put-if-newer into the destination, carrying a version
//   2. remove from the source the version that was copied
// Both fenced by (job, epoch). An entity that changed in between is read and copied again, so nothing is removed whose
// newest version is not in the destination. What a page puts is noted durably in the message before the first copy: a
// delivery that takes over completes those moves even if an entity has since changed to match the filter no more.
// The removal from the source decides who has an entity. Whoever has put a copy and finds the entity gone, though its
// ledger has not counted that removal, takes its copy back. So a copy has one owner, the job that wrote it: another one
// that finds it there skips the entity while that job lives. A job that was sent back from poison takes nothing back,
// for then others did not wait for it.
//   forth (archive)    carries the version that was read. In the way: what was put into the destination directly, or
//                      something newer.
//   back (unarchive)   carries the version that was archived, so an entity written since then stays and its archived
//                      copy too. The restored entity has a new version of its own: an archive job that copied the old
//                      one cannot remove it.
//   checkpoint {"continuation":C,"pending":NOTE,"doneBefore":N,"skips":[...]}     NOTE: the destination's own
// Fails with kTableNotFound (source), kMaxAffectedExceeded, kFenced, kLeaseLost, kCancelled,
// kUpdateConditionNotSatisfied (entities that others kept changing) and whatever the clients report.
#pragma once
#include <memory>

#include "jobs/kinds/reach.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

class Side;

/// What the job reaches says from where to where, what is selected, and by its step (kArchive, kRestore) whether it
/// goes forth or back. kJobInvalid: this worker cannot reach what the job names.
Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach);
/// The same between these sides (rekey).
Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach, std::unique_ptr<Side> from,
                                  std::unique_ptr<Side> to);

}  // namespace tidemark::workers
