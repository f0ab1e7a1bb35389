// Lanes of jobs (Cause::lane) that are held up: a job of a rule with "ifPoison":"hold" that becomes poison holds up
// those behind it until it has ended in another way, or its message is gone. Rows of the jobs' table:
//   'lanes' / LANE     JobId String, the job that is poison
// A row whose job is over has no effect: holder() removes it, and so does the upkeep once the job has no record.
#pragma once
#include <optional>
#include <string>

#include "jobs/store/job_store.h"
#include "jobs/store/partition_rows.h"

namespace tidemark::jobs {

inline constexpr std::string_view kLanePartition = "lanes";

class HeldLanes {
 public:
  HeldLanes(JobStore& jobs, table_store::TableClient& tables);
  /// Holds up the lane of a job, if it has one that it can hold up. Call it before the job's message goes to the poison
  /// queue: until then, the order of the queue holds up the jobs behind it.
  Task<Result<void>> hold(JobSpec spec, std::string job_id);
  /// Returns the job for which a job has to wait; nothing if it may begin.
  Task<Result<std::optional<std::string>>> holder(JobSpec spec, std::string job_id);

 private:
  JobStore& jobs_;
  PartitionRows rows_;
};

}  // namespace tidemark::jobs
