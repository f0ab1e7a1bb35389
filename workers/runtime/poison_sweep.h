// The common part of jobs over poison messages (redrive, purge). A sweep finds the selected messages that were poison
// when the job was submitted, notes a batch of them in its own message, and does its work on each at the job's pace. So
// a worker that takes the job over knows which messages may have been dealt with. Messages that came back to the poison
// queue meanwhile are left alone: the work is done on a message only as long as it has the epoch that the sweep saw.
//   canary      so many go first; then the job waits until all of their jobs have ended, without holding a worker, and
//               goes on only if every one succeeded: kCanaryFailed
//   checkpoint  {"canaries":[job ids],"pending":[message ids],"sent":N,"passed":B}
//   figures     `done` of the record counts the messages that the sweep dealt with. When somebody cancels the job, its
//               worker learns of it at its next report, within kProgressInterval, and then corrects the figure; if it
//               dies before that, the delivery that gets the message does
#pragma once
#include "jobs/poison/poison.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

struct PoisonWork {
  jobs::PoisonSelection which;
  std::uint32_t canary = 0;
  const char* doing;  // the phase in the record: "sending"
  const char* did;    // "sent"
  /// Deals with a message in one transaction. kPoisonNotFound if it is gone, or has come back since it was seen.
  std::function<Task<Result<void>>(jobs::PoisonStore& poison, jobs::PoisonRecord seen)> deal;
};

Task<Result<JobOutcome>> sweep_poison(JobContext& context, PoisonWork work);

/// Called before the message of a cancelled job is dropped: records the work of its sweep, unless its worker has.
Task<Result<void>> settle_sweep(const JobServices& services, const jobs::JobSpec& spec,
                                const nlohmann::json& checkpoint, const jobs::JobRecord& ended);

}  // namespace tidemark::workers
