// Removes data that is no longer needed: records of jobs that ended longer ago than the retention (or than the
// keepHours of the job, which its record has as KeepUntil), with their ledgers; the idempotency keys of jobs that are
// gone; groups (groups.h); rows of workers that died long ago; old entries of the audit trail
// (jobs/audit/audit_store.h). A record outlives its message, wherever that waits: in the poison queue, for a kind that
// is paused, or for a worker. It outlives its group, too. Any number of collectors may run side by side: each removal
// of data that may change names the version that it saw. The retention must be longer than any lease, since a worker
// that slept through it would find no ledger to refuse it.
#pragma once
#include <functional>

#include "jobs/store/job_store.h"

namespace tidemark::jobs {

inline constexpr Duration kAuditRetention = std::chrono::hours(24 * 400);

struct Collected {
  std::uint64_t jobs = 0;
  std::uint64_t keys = 0;
  std::uint64_t groups = 0;
  std::uint64_t workers = 0;
  std::uint64_t audit_entries = 0;
};

/// Tells whether the rule that has made a job may ask for it again.
using MayComeAgain = std::function<Task<Result<bool>>(Cause cause)>;

class Collector {
 public:
  Collector(table_store::TableClient& tables, queue_service::QueueClient& queues, Clock& clock, Duration retention,
            Duration audit_retention = kAuditRetention, MayComeAgain may_come_again = {})
      : tables_(tables),
        queues_(queues),
        clock_(clock),
        retention_(retention),
        audit_retention_(audit_retention),
        may_come_again_(std::move(may_come_again)) {}
  /// Makes one pass over everything that is old by `now`, which is the table store's age_now(): a clock that somebody
  /// sets does not mislead it.
  Task<Result<Collected>> collect(Time now);

 private:
  enum class Rows : std::uint8_t { kJobs, kKeys, kWorkers, kNotes };
  Task<Result<std::uint64_t>> sweep(Rows rows, Time now, table_store::QueryRequest request);
  Task<Result<bool>> removable(Rows rows, Time now, table_store::Entity entity);
  Task<Result<bool>> is_asked_for(JobRecord record);
  Task<Result<bool>> remove(Rows rows, table_store::Entity entity);
  Task<Result<void>> close_messages(JobRecord record);
  Task<Result<void>> forget_operation(std::string id, std::string account);

  table_store::TableClient& tables_;
  queue_service::QueueClient& queues_;
  Clock& clock_;
  Duration retention_, audit_retention_;
  MayComeAgain may_come_again_;
};

}  // namespace tidemark::jobs
