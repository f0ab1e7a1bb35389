// Carries out small jobs that arrived together: moves of one entity, and transactions that change entities and put
// messages (small_transaction.h). One call reads their records, and a last call deletes their messages. In between, the
// work of a job, the closing of its operation and the end of its record are one transaction of the table store; all
// moves are in one call. A job that is not that simple (its record or entity is missing, something is in the way, a
// guard does not hold, a call failed) is left, and JobRunner takes it. JobRunner also takes all deliveries after the
// first, because this code does not look at the work of other deliveries.
//   crash before the transaction   nobody has worked on the job; its message comes back
//   after it                       the record says succeeded; the message comes back and is dropped
// There is no heartbeat: jobs that cannot be done within the lease are left. Runs on one strand; references must
// outlive the run.
#pragma once
#include <vector>

#include "workers/runtime/job_runner.h"

namespace tidemark::workers {

struct SmallJob {
  queue_service::Message message;
  std::string job_id;
  jobs::JobSpec spec;
  std::optional<table_store::Move> move;  // nothing: the job is a transaction
};
/// Returns nothing if the message is not such a job, was delivered before, or belongs into another queue than the one
/// it came from, or if the worker makes spans and the job's trace is recorded: such a job has its calls to itself.
std::optional<SmallJob> small_job(const queue_service::Message& message, std::string_view queue, bool traces);

struct BatchOutcome {
  std::vector<RunReport> ended;
  std::vector<queue_service::Message> left;
};

class JobBatch {
 public:
  JobBatch(RunnerOptions options, JobServices services, LimitGate& gate)
      : options_(std::move(options)), services_(services), gate_(gate) {}

  /// `jobs`: 1..100 messages of `queue`, which arrived at `taken`.
  Task<BatchOutcome> run(std::string queue, std::vector<SmallJob> jobs, Time taken);

 private:
  struct Batch;  // the state of one run
  /// Tells whether no other delivery can have the messages.
  [[nodiscard]] bool in_time(const Batch& batch) const;
  /// Makes the end of a job's record; nothing: its record is not as it was submitted.
  std::optional<table_store::Companion> end_of(Batch& batch, std::size_t number, std::uint64_t done) const;
  Task<Result<void>> move(Batch& batch);
  Task<void> take_steps(Batch& batch);
  Task<void> complete(Batch& batch);

  RunnerOptions options_;
  JobServices services_;
  LimitGate& gate_;
};

}  // namespace tidemark::workers
