// Schedules as rows of the jobs' table, for the api, the workers and tests. Every change of a row is a compare-and-swap
// of its version, so any number of instances may work at once. A change by a person also writes a row that tells the
// workers to read the schedules again.
//   row: PartitionKey 'schedules', RowKey the name
//     Definition   String   canonical text (schedule.h)
//     CreatedAt Decided     DateTime          Paused  Boolean
//     PendingDue PendingSince DateTime, PendingJob PendingWorker String    while a due time is claimed
//     LastDue LastAt DateTime, LastJob LastProblem String, Runs Skipped Missed Int64
//   row: 'schedule-changes' / 'last'; only its version matters
#pragma once
#include "jobs/schedules/schedule.h"
#include "jobs/store/job_store.h"
#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

inline constexpr std::size_t kMaxSchedules = 1000;

struct SchedulePage {
  std::vector<Schedule> schedules;  // by name
  std::string continuation;         // empty at the end
};

/// The conditions of a PUT or DELETE, from If-Match and If-None-Match.
struct ScheduleCondition {
  std::string etag;  // the ETag that the schedule must have; "*": any; empty: no condition
  bool must_be_new = false;
};

struct StoredSchedule {
  Schedule schedule;
  bool created = false;
};

class ScheduleStore {
 public:
  ScheduleStore(table_store::TableClient& tables, Clock& clock);

  Task<Result<std::optional<Schedule>>> find(std::string name);
  /// `limit` 1..1000.
  Task<Result<SchedulePage>> list(std::uint32_t limit, std::string continuation);
  Task<Result<std::vector<Schedule>>> all();
  /// Creates or replaces a schedule. A new timetable (cron, timeZone, startAfter) begins now or at startAfter;
  /// otherwise the schedule continues where it is. kUpdateConditionNotSatisfied, kTooManySchedules.
  Task<Result<StoredSchedule>> put(std::string name, ScheduleSpec spec, ScheduleCondition condition);
  /// kScheduleNotFound, kUpdateConditionNotSatisfied.
  Task<Result<void>> remove(std::string name, ScheduleCondition condition);
  /// Times that were due during a pause are not caught up. kScheduleNotFound.
  Task<Result<Schedule>> set_paused(std::string name, bool paused);
  /// Submits the job of `due`, which need not be a time of the timetable, at once and regardless of `overlap`. The same
  /// time gives the same job. kScheduleNotFound, kIdempotencyKeyReused; kInvalidInput if no row can hold the time.
  Task<Result<Submission>> run(JobStore& jobs, std::string name, Time due);

  /// Stores the schedule, as a new row or by compare-and-swap, and sets its new version; returns false if the row was
  /// changed meanwhile.
  Task<Result<bool>> swap(Schedule& schedule);
  /// Returns a number that rises with each change by a person; 0 before the first.
  Task<Result<table_store::Version>> changes();

 private:
  Task<Result<void>> note_run(Schedule seen, Time due, JobRecord job);
  PartitionRows rows_;
  ChangeMark mark_;
  Clock& clock_;
};

}  // namespace tidemark::jobs
