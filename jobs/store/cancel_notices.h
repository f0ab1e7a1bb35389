// Notices that running jobs of users' own kinds were cancelled, so that the streams of events of all apis can tell the
// workers at once. A notice that is missed does no harm: the worker learns of it with its next sign of life. Rows of
// the jobs' table:
//   'cancels' / VERSION-JOB     JobId Worker String, Epoch Int64; VERSION: 20 digits of the version with which the
//                               record says cancelled, a time by the store's clock, so that the newest are last
// Workers' upkeep removes them after an hour.
#pragma once
#include <string>
#include <vector>

#include "jobs/store/job_record.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr std::string_view kCancelPartition = "cancels";

struct CancelNotice {
  table_store::Version version = 0;
  std::string job_id, worker;
  std::uint64_t epoch = 0;
};

class CancelNotices {
 public:
  explicit CancelNotices(table_store::TableClient& tables) : tables_(tables) {}
  /// `cancelled`: the record of the job.
  Task<Result<void>> put(JobRecord cancelled);
  /// Returns up to 1000 notices from this version on, the oldest first.
  Task<Result<std::vector<CancelNotice>>> since(table_store::Version version);

 private:
  table_store::TableClient& tables_;
};

}  // namespace tidemark::jobs
