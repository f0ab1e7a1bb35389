// Takes messages from the jobs queue and runs up to `concurrency` of them at once. One long poll is under way while
// there is a free slot; when a store cannot be reached it backs off with jitter. Everything runs on one strand of the
// executor it is given, all waiting goes through the Clock, and the state is in the stores: any number of loops may
// work on one queue. References must outlive the coroutines, that is, the executor's work.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "workers/runtime/job_runner.h"

namespace tidemark::workers {

struct WorkerOptions {
  RunnerOptions runner;
  std::size_t concurrency = 4;
  Duration poll = std::chrono::seconds(20);
};

/// Called on the loop's strand after each delivery.
using RunObserver = std::function<void(const RunReport& report, Duration took)>;

class WorkerLoop : public std::enable_shared_from_this<WorkerLoop> {
 public:
  static std::shared_ptr<WorkerLoop> create(WorkerOptions options, table_store::TableClient& tables,
                                            queue_service::QueueClient& queues, jobs::JobStore& jobs, Clock& clock,
                                            Random& random, const Executor& executor, RunObserver observer);

  /// Starts polling. Once.
  void start();
  /// Takes nothing more and lets what is running finish within `limit`; what is not finished by then stops at its next
  /// step and is given back. Returns when nothing runs any more, or a lease's length after `limit`. Await it on
  /// strand().
  Task<void> drain(Duration limit);
  [[nodiscard]] const Executor& strand() const { return strand_; }

 private:
  WorkerLoop(WorkerOptions options, table_store::TableClient& tables, queue_service::QueueClient& queues,
             jobs::JobStore& jobs, Clock& clock, Random& random, const Executor& executor, RunObserver observer);
  static Task<void> poll(std::shared_ptr<WorkerLoop> self);
  static Task<void> serve(std::shared_ptr<WorkerLoop> self, queue_service::Message message, Time taken);
  Task<void> back_off(Error error);
  Task<void> wait_idle(Duration limit);

  WorkerOptions options_;
  queue_service::QueueClient& queues_;
  jobs::JobStore& jobs_;
  Clock& clock_;
  Random& random_;
  JobRunner runner_;
  Executor strand_;
  RunObserver observer_;
  std::shared_ptr<bool> give_back_ = std::make_shared<bool>(false);
  std::size_t busy_ = 0;
  std::uint32_t failures_ = 0;  // polls in a row
  bool stopping_ = false;
  Signal changed_;  // a slot is free, or the loop is to stop
};

}  // namespace tidemark::workers
