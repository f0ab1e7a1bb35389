// Carries out a transaction at its first delivery, if it does nothing but change entities and put messages in the
// account of the jobs. Many of them run side by side, each as if it were alone: at every step they make their calls
// together. The commit of the last step ends the record of the job, too:
//   crash before the first commit   nobody has worked on the job
//   after it                        it is decided, and the next delivery goes on (kinds/transaction.cpp)
// Everything that is not that simple is left to JobRunner, also in the middle. Runs on one strand.
#pragma once
#include "common/rpc/gathered.h"
#include "jobs/kinds/transaction/filled_steps.h"
#include "workers/runtime/job_context.h"

namespace tidemark::workers {

/// The calls of transactions that run side by side.
struct StepCalls {
  explicit StepCalls(const JobServices& services)
      : get(services.tables.get),
        take_steps(services.tables.take_steps),
        figures(services.queues.figures),
        put(services.queues.put_placed),
        close_queues(services.queues.close_operation) {}
  rpc::Gathered<table_store::calls::Get> get;
  rpc::Gathered<table_store::calls::TakeSteps> take_steps;
  rpc::Gathered<queue_service::calls::Figures> figures;
  rpc::Gathered<queue_service::calls::Put> put;
  rpc::Gathered<queue_service::calls::CloseOperation> close_queues;
};

/// Tells whether the transaction can be carried out in this way.
bool is_small(const jobs::TransactionSpec& transaction);

class SmallTransaction {
 public:
  /// The job, and the things that its transaction needs; the references must outlive the run.
  struct Job {
    StepCalls& calls;
    const LimitGate& gate;
    const jobs::TransactionSpec& spec;
    table_store::Fence fence;
    /// Makes the end of the job's record; nothing: it cannot end in this way.
    std::function<std::optional<table_store::Companion>(std::uint64_t steps)> end;
    std::function<bool()> in_time;  // the delivery still has the message
  };
  explicit SmallTransaction(Job job) : job_(std::move(job)) {}

  /// Returns whether the job has ended. Without an error, nothing was done if it has not.
  Task<Result<bool>> run();

 private:
  [[nodiscard]] bool unrestricted() const;
  Task<Result<bool>> has_queues();
  Task<Result<bool>> decide(jobs::GuardsRead read);
  /// Takes the steps from the next one on that change entities, or none, and ends the job if no others are left.
  Task<Result<table_store::StepsTaken>> take(table_store::StepsRequest request);
  Task<Result<void>> put(const jobs::FilledMessage& step);

  Job job_;
  std::vector<jobs::FilledStep> steps_;
  std::size_t next_ = 0;  // the step, from 0
  bool puts_ = false;     // some step puts a message
  bool ended_ = false;
};

}  // namespace tidemark::workers
