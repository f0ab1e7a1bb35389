// The work of a worker beside its jobs: it reports every few seconds that it lives (jobs/store/worker_list.h), from
// time to time removes data that is no longer needed (workers/upkeep/collector.h), and submits the jobs of schedules
// when they are due (scheduler.h). Three coroutines on the loop's strand; a store that does not answer is tried again
// the next time. References must outlive the executor's work.
#pragma once
#include <memory>

#include "feeds/on_change/on_change_store.h"
#include "jobs/store/worker_list.h"
#include "workers/runtime/worker_loop.h"
#include "workers/upkeep/collector.h"
#include "workers/upkeep/scheduler.h"

namespace tidemark::workers {

struct HousekeepingOptions {
  jobs::WorkerInfo self;
  Duration retention = std::chrono::hours(24 * 7);
  Duration audit_retention = jobs::kAuditRetention;
  Duration collect_every = std::chrono::minutes(10);
  /// See jobs/objects/file_collector.h.
  Duration archive_grace = std::chrono::hours(1);
  Duration archive_quarantine = std::chrono::hours(24);
  /// A new or changed schedule, and a clock that was set, are noticed within this time.
  Duration schedule_poll = std::chrono::seconds(2);
  Duration schedule_hold = std::chrono::seconds(30);
};

class Housekeeping : public std::enable_shared_from_this<Housekeeping> {
 public:
  static std::shared_ptr<Housekeeping> create(HousekeepingOptions options, JobServices services,
                                              std::shared_ptr<WorkerLoop> loop);
  void start();
  /// Takes the worker off the list. Await it on the loop's strand.
  Task<void> stop();

 private:
  Housekeeping(HousekeepingOptions options, JobServices services, std::shared_ptr<WorkerLoop> loop);
  static Task<void> beat(std::shared_ptr<Housekeeping> self);
  Task<void> collect_once();
  static Task<void> collect(std::shared_ptr<Housekeeping> self);
  static Task<void> schedule(std::shared_ptr<Housekeeping> self);

  HousekeepingOptions options_;
  JobServices services_;
  jobs::WorkerList list_;
  feeds::OnChangeStore on_changes_;
  jobs::Collector collector_;
  Scheduler scheduler_;
  std::shared_ptr<WorkerLoop> loop_;
  bool stopping_ = false;
  Signal wake_;
};

}  // namespace tidemark::workers
