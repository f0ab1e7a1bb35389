// The end with steps that a worker gives a job of a user's own kind: a transaction, and the result that the job has
// once the transaction has ended. The record keeps it (JobRecord::end_steps), so that the end and its steps become
// durable in one write; a built-in worker then takes the steps under the job's own id (docs/workers.md). Pure.
//   {"guards"?:[...],"steps":[...],"result":JSON}
#pragma once
#include <string>
#include <string_view>

#include "jobs/kinds/transaction/transaction.h"
#include "jobs/store/job_record.h"

namespace tidemark::jobs {

struct EndSteps {
  TransactionSpec transaction;
  std::string result;  // JSON
};

std::string end_steps_text(const EndSteps& end);
/// kCorruption.
Result<EndSteps> parse_end_steps(std::string_view text);
/// Returns the work that a job still needs: that of its record or, once its worker has ended it with steps, the steps.
Result<JobSpec> work_left_of(const JobRecord& record);

}  // namespace tidemark::jobs
