// One delivery of a job's message from receipt to its end: claim, work, then finish, retry or give up. Every step is
// durable before the next and may be repeated by another delivery, so a crash anywhere leaves a message that leads to
// the same end:
//   success   close the operation; record succeeded; delete the message and put the notices of its end, in one step
//   retry     record queued; message back with a delay, the attempt noted in it
//   put off   too early (notBefore), or its kind is paused or has reached its limit: message back, no attempt counted
//   pass on   it belongs into another queue: the record names that one; message moved there, no attempt counted
//   give up   note in the message; record poisoned; put the notices of its end; move the message, even if the store
//             refuses the record
// Runs on one strand; all references must outlive the run. Never throws and never fails: errors end in one of these
// ways.
#pragma once
#include <memory>
#include <string>

#include "jobs/store/endings.h"
#include "jobs/store/held_lanes.h"
#include "jobs/store/job_store.h"
#include "workers/runtime/job_context.h"
#include "workers/runtime/retry_policy.h"

namespace tidemark::workers {

struct RunnerOptions {
  std::string worker_name;
  Duration lease = std::chrono::seconds(30);
  RetryPolicy retry;
  bool traces = false;  // spans are made, and the calls of a job whose trace is recorded carry its context
};

/// How a delivery ended, for logs and metrics.
enum class RunEnd : std::uint8_t { kSucceeded = 1, kDropped = 2, kRetried = 3, kPoisoned = 4, kAbandoned = 5 };
std::string_view end_name(RunEnd end);

struct RunReport {
  RunEnd end = RunEnd::kAbandoned;
  std::string job_id;
  std::string kind;
  std::optional<Error> error;
  // For spans: see jobs/spec/job_trace.h.
  TraceContext submitted_by = {};
  std::uint64_t epoch = 0;
  Time put = {};  // when its message was put
};

class JobRunner {
 public:
  JobRunner(RunnerOptions options, JobServices services, LimitGate& gate)
      : options_(std::move(options)),
        services_(services),
        gate_(gate),
        lanes_(services.jobs, services.tables),
        endings_(services.tables, services.queues, services.clock) {}

  /// `taken` is when the message arrived from `queue`. Once `*give_back` is true, the job stops at its next step and is
  /// given back.
  Task<RunReport> run(queue_service::Message message, Time taken, std::shared_ptr<const bool> give_back,
                      std::string queue = std::string(jobs::kJobQueue));

 private:
  struct Run;  // the state of one delivery
  static void read_message(Run& run);
  Task<RunEnd> steps(Run& run);
  /// Puts the steps with which a worker of a user's has ended the job, if it has, in the place of its work.
  Task<Result<void>> look_for_steps(Run& run);
  /// Returns how long a job is put off if its kind is paused, its lane is held up, or a limit is reached.
  Duration next_look();
  static Duration wait_for_slot(Run& run);
  [[nodiscard]] jobs::Delivery delivery_for(const Run& run) const;
  Task<RunEnd> claim(Run& run);
  Task<RunEnd> work(Run& run);
  /// Notes in the record, before the job writes there, the accounts in which it has ledgers. kJobInvalid if this worker
  /// may not reach one of them.
  Task<Result<void>> choose_accounts(Run& run);
  /// An edited text may name other accounts: the job's earlier requests have no effect any more in the accounts that it
  /// has left. These stay in the list, behind `accounts`, since they still have ledgers of the job.
  Task<Result<void>> leave_accounts(Run& run, std::vector<std::string>& accounts);
  /// Like attempts_in_vain(); but if workers die on a job, work that only the operation's ledger shows counts as
  /// progress, too.
  Task<std::uint32_t> deaths_in_vain(Run& run);
  Task<RunEnd> put_off(Run& run, Duration delay);
  /// Returns the name of the queue in which the job should wait: the one that it names, or its kind's, or its present
  /// one.
  [[nodiscard]] std::string queue_for(const Run& run) const;
  Task<RunEnd> pass_on(Run& run, std::string queue);
  /// Makes the record of a job that does not run now say that it waits in this queue. If nobody needs the message,
  /// returns how the delivery ended.
  Task<Result<std::optional<RunEnd>>> meet(Run& run, std::string queue);
  /// Gives the message back with the story. While the queue is busy or away, tries again as long as the lease lasts.
  Task<RunEnd> release(Run& run, Duration delay, bool count_attempt);
  /// Returns the ledger of the job's work so far; no earlier delivery adds to it any more.
  Task<Result<table_store::OperationLedger>> open_operation(Run& run);
  /// Makes the change that ends the record; creates the record anew if it is gone.
  Task<Result<jobs::JobRecord>> end_record(Run& run, jobs::RecordChange change);
  [[nodiscard]] jobs::Attempt attempt_of(const Run& run, std::string outcome) const;
  Task<RunEnd> succeed(Run& run, JobOutcome outcome);
  [[nodiscard]] RetryPolicy policy_of(const Run& run) const;
  Task<RunEnd> settle(Run& run, Error error);
  Task<RunEnd> retry(Run& run, Decision decision, Error error);
  /// `code`: the name of the error.
  Task<RunEnd> give_up(Run& run, std::string reason, std::string_view code);
  /// Ends a job that must not become poison.
  Task<RunEnd> stop(Run& run, std::string reason, std::string_view code);
  /// Stands in for a record that cannot be written, so that the end of the job can be announced.
  static jobs::JobRecord record_instead(const Run& run, const jobs::PoisonRecord& poison);
  Task<RunEnd> move_to_poison(Run& run, jobs::PoisonRecord poison);
  /// Deletes the message; if the job has ended, puts the callbacks of its end in the same transaction.
  Task<Result<void>> end_message(Run& run, std::optional<jobs::JobRecord> ended);
  Task<RunEnd> drop(Run& run, std::optional<jobs::JobRecord> ended);
  Task<RunEnd> overtaken(Run& run);

  RunnerOptions options_;
  JobServices services_;
  LimitGate& gate_;
  jobs::HeldLanes lanes_;
  jobs::Endings endings_;
  Time next_look_{};
};

}  // namespace tidemark::workers
