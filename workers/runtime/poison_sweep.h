// What jobs over poison messages have in common (redrive, purge). A sweep finds those that are selected and were poison
// when the job was submitted, notes a batch of them in its message, and does its work on each at the job's pace. So a
// worker that takes the job over knows which messages may have been dealt with, and what came back to the poison queue
// meanwhile is left alone: the work is done on a message only as long as it has the epoch that the sweep saw.
//   canary      so many go first; then the job waits until all of their jobs have ended, without holding a worker, and
//               goes on only if every one succeeded: kCanaryFailed
//   checkpoint  {"canaries":[job ids],"pending":[message ids],"sent":N,"passed":B}
//   figures     `done` of the record is what the sweep dealt with. When somebody cancels the job, its worker hears of it
//               at its next report, within kProgressInterval, and then puts the figure right; if it dies before that,
//               whoever gets the message does
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

/// Before the message of a job is dropped that was cancelled: notes what a sweep had done, unless its worker has.
Task<Result<void>> settle_sweep(const JobServices& services, const jobs::JobSpec& spec,
                                const nlohmann::json& checkpoint, const jobs::JobRecord& ended);

}  // namespace tidemark::workers
