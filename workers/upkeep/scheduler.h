// Submits the jobs of schedules (jobs/schedules/schedule.h) when they are due. Every worker runs a scheduler, and none
// is special: the one that wins the compare-and-swap of the schedule's row has the due time. Two durable steps and a
// note:
//   claim    the row says which time is being taken, with the job's text, and that everything before it is settled
//   submit   the job, with the schedule's name and the due time as its idempotency key
//   note     the row says which job it became; the claim is gone
// A worker that dies after the claim is replaced by any other, once the claim is older than `hold`; the key makes the
// second submission find the first. A row is read again before each step, so a change by a person is never overwritten.
// Coroutines on the caller's executor; one pass at a time.
#pragma once
#include "jobs/schedules/schedule_plan.h"
#include "jobs/schedules/schedule_store.h"

namespace tidemark::workers {

struct SchedulerOptions {
  std::string worker_name;
  Duration hold = std::chrono::seconds(30);  // longer than a submission takes
};

class Scheduler {
 public:
  Scheduler(SchedulerOptions options, jobs::JobStore& jobs, table_store::TableClient& tables, Clock& clock)
      : options_(std::move(options)), jobs_(jobs), schedules_(tables, clock), clock_(clock) {}

  /// Does the work that is due now. Reads the schedules only when one is due or was changed, or after a while. Returns
  /// when to look again at the latest; nothing if no schedule will ever be due.
  Task<Result<std::optional<Time>>> look();

 private:
  /// Works on all schedules until each of them sleeps.
  Task<Result<std::optional<Time>>> pass();
  Task<Result<std::optional<Time>>> carry(jobs::Schedule schedule);
  /// Makes one step. True: it was made, ask again; false: somebody else changed the row.
  Task<Result<bool>> take(jobs::Schedule& schedule, jobs::ScheduleDecision decision);
  Task<Result<bool>> claim(jobs::Schedule& schedule, Time due);
  Task<Result<bool>> submit(jobs::Schedule& schedule);
  Task<Result<bool>> note(jobs::Schedule& schedule, jobs::ScheduleState::Pending done, std::string job_id,
                          std::string problem);
  Task<Result<bool>> last_job_runs(std::string id);

  SchedulerOptions options_;
  jobs::JobStore& jobs_;
  jobs::ScheduleStore schedules_;
  Clock& clock_;
  table_store::Version seen_changes_ = -1;
  std::optional<Time> looked_;
  std::optional<Time> next_;
};

}  // namespace tidemark::workers
