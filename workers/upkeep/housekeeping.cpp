#include "workers/upkeep/housekeeping.h"

#include "common/process/failures.h"
#include "jobs/objects/file_collector.h"
#include "workers/indexes/build_claims.h"
#include "workers/indexes/stray_followers.h"
#include "workers/on_change/rule_jobs.h"

namespace tidemark::workers {
namespace {

/// Logs a failure. The task is tried again later.
template <class T>
void tell_if_failed(std::string_view task, const Result<T>& done) {
  if (!done) process::log_failed_task(task, done.error());
}

}  // namespace

std::shared_ptr<Housekeeping> Housekeeping::create(HousekeepingOptions options, JobServices services,
                                                   std::shared_ptr<WorkerLoop> loop) {
  return std::shared_ptr<Housekeeping>(new Housekeeping(std::move(options), std::move(services), std::move(loop)));
}

Housekeeping::Housekeeping(HousekeepingOptions options, JobServices services, std::shared_ptr<WorkerLoop> loop)
    : options_(std::move(options)),
      services_(std::move(services)),
      list_(services_.tables),
      on_changes_(services_.tables, services_.clock, services_.random),
      collector_(services_.tables, services_.queues, services_.clock, options_.retention, options_.audit_retention,
                 [this](jobs::Cause cause) { return may_come_again(on_changes_, std::move(cause)); }),
      scheduler_({options_.self.name, options_.schedule_hold}, services_.jobs, services_.tables, services_.clock),
      loop_(std::move(loop)) {}

void Housekeeping::start() {
  spawn(loop_->strand(), beat(shared_from_this()));
  spawn(loop_->strand(), collect(shared_from_this()));
  spawn(loop_->strand(), schedule(shared_from_this()));
}

Task<void> Housekeeping::stop() {
  stopping_ = true;
  wake_.notify_all();
  std::ignore = co_await list_.leave(options_.self.name);  // after an error, the worker is shown as lost for a day
}

Task<void> Housekeeping::beat(std::shared_ptr<Housekeeping> self) {
  while (!self->stopping_) {
    auto info = self->options_.self;
    info.heartbeat_at = self->services_.clock.now();
    info.running = static_cast<std::int32_t>(self->loop_->busy());
    tell_if_failed("worker.heartbeat", co_await self->list_.beat(std::move(info)));
    if (self->stopping_) break;
    co_await self->wake_.wait(self->services_.clock, jobs::kHeartbeatInterval);
  }
}

Task<void> Housekeeping::collect(std::shared_ptr<Housekeeping> self) {
  while (!self->stopping_) {
    // The pause is random, so that workers that were started together do not collect together.
    const auto every = self->options_.collect_every;
    const auto pause =
        every / 2 +
        Duration(static_cast<std::int64_t>(self->services_.random.below(static_cast<std::uint64_t>(every.count()))));
    co_await self->wake_.wait(self->services_.clock, pause);
    if (self->stopping_) break;
    co_await self->collect_once();
  }
}

Task<void> Housekeeping::collect_once() {
  const auto now = co_await services_.tables.age_now();
  tell_if_failed("worker.collect", now);
  if (!now) co_return;
  tell_if_failed("worker.collect_builds", co_await release_ended_builds(services_));
  tell_if_failed("worker.collect_followers", co_await remove_stray_followers(services_));
  tell_if_failed("worker.collect_drops", co_await finish_drops(services_));
  feeds::OnChangeStore on_changes(services_.tables, services_.clock, services_.random);
  tell_if_failed("worker.collect_on_changes", co_await on_changes.finish_removals());
  tell_if_failed("worker.collect_records", co_await collector_.collect(*now));
  for (const auto& directory : services_.objects.directories) {
    const jobs::CollectionRules rules{*now, options_.archive_grace, options_.archive_quarantine};
    tell_if_failed("worker.collect_files", co_await collect_files(services_.tables, directory, rules));
  }
}

Task<void> Housekeeping::schedule(std::shared_ptr<Housekeeping> self) {
  while (!self->stopping_) {
    const auto next = co_await self->scheduler_.look();
    tell_if_failed("worker.schedules", next);
    if (self->stopping_) break;
    auto pause = self->options_.schedule_poll;
    if (next && *next)
      pause = std::clamp<Duration>(**next - self->services_.clock.now(), std::chrono::milliseconds(1), pause);
    co_await self->wake_.wait(self->services_.clock, pause);
  }
}

}  // namespace tidemark::workers
