// Takes messages from the queues of jobs that it serves, and runs up to `concurrency` of them at once. Among the queues
// that have messages, the next is chosen by weight (lanes.h), so that none starves; an empty queue is watched by a long
// poll. Small jobs that arrive together count as one (job_batch.h). While small jobs arrive, the loop takes more
// messages than it has room for, and gives other jobs back at once if there is no room for them. When a store cannot be
// reached, the loop backs off with jitter. Everything runs on one strand of the executor, all waiting goes through the
// Clock, and the state is in the stores, so any number of loops may work on a queue. References must outlive the
// coroutines, that is, the executor's work.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "workers/runtime/job_batch.h"
#include "workers/runtime/lanes.h"

namespace tidemark::workers {

struct WorkerOptions {
  RunnerOptions runner;
  std::size_t concurrency = 4;
  Duration poll = std::chrono::seconds(20);
  std::vector<Lane> lanes = default_lanes();  // jobs in other queues are left to other workers
};

/// Called on the loop's strand after each delivery.
using RunObserver = std::function<void(const RunReport& report, Duration took)>;

class WorkerLoop : public std::enable_shared_from_this<WorkerLoop> {
 public:
  static std::shared_ptr<WorkerLoop> create(WorkerOptions options, JobServices services, const Executor& executor,
                                            RunObserver observer = {});

  /// Starts polling; call it once.
  void start();
  /// Takes nothing more and lets running jobs finish within `limit`. Those that are not finished by then stop at their
  /// next step and are given back. Returns when nothing runs any more, or a lease's length after `limit`. Await it on
  /// strand().
  Task<void> drain(Duration limit);
  [[nodiscard]] const Executor& strand() const { return strand_; }
  [[nodiscard]] std::size_t busy() const { return busy_; }

 private:
  WorkerLoop(WorkerOptions options, JobServices services, const Executor& executor, RunObserver observer);
  /// Takes from the queues that may have messages while there is room.
  static Task<void> fetch(std::shared_ptr<WorkerLoop> self);
  /// Waits for a message in an empty queue.
  static Task<void> watch(std::shared_ptr<WorkerLoop> self, std::size_t lane);
  /// Starts the jobs that arrived: small ones together, the others one by one.
  Task<void> take_all(std::size_t lane, std::vector<queue_service::Message> messages);
  Task<void> take(std::size_t lane, queue_service::Message message);
  Task<void> give_back(std::string queue, queue_service::Message message);
  static Task<void> serve(std::shared_ptr<WorkerLoop> self, std::string queue, queue_service::Message message,
                          Time taken);
  static Task<void> serve_together(std::shared_ptr<WorkerLoop> self, std::string queue, std::vector<SmallJob> jobs,
                                   Time taken);
  Task<Result<void>> serve_one(std::string queue, queue_service::Message message, Time taken);
  Task<void> back_off(std::size_t lane, Error error);
  Task<void> wait_idle(Duration limit);

  WorkerOptions options_;
  JobServices services_;
  LimitGate gate_;
  JobRunner runner_;
  JobBatch batch_;
  LaneChoice lanes_;
  Executor strand_;
  RunObserver observer_;
  std::shared_ptr<bool> give_back_ = std::make_shared<bool>(false);
  std::size_t busy_ = 0;        // running jobs; small ones that arrived together count as one
  bool small_jobs_ = false;     // the last messages were small jobs
  std::uint32_t failures_ = 0;  // failed polls in a row
  bool stopping_ = false;
  Signal changed_;  // a slot is free, a queue has messages, or the loop must stop
};

}  // namespace tidemark::workers
