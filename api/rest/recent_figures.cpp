#include "api/rest/recent_figures.h"

#include <algorithm>

#include "api/rest/job_queues.h"
#include "jobs/spec/job_queues.h"

namespace tidemark::api {

void RecentFigures::answered(Duration taken, unsigned status) {
  MutexLock lock(mutex_);
  ++requests_;
  if (status == 403 || status == 429 || status == 503) ++refused_;
  taken_ += taken;
}

Task<void> RecentFigures::run(std::shared_ptr<RecentFigures> self, queue_service::QueueClient& queues, Clock& clock) {
  const auto ticket = self->stopping_.ticket();
  do {
    co_await self->take(queues, clock);
  } while (!co_await self->stopping_.wait(ticket, clock, kStep));
}

Task<void> RecentFigures::take(queue_service::QueueClient& queues, Clock& clock) {
  RecentSample sample;
  auto names = co_await job_queues(queues);
  if (!names) co_return;
  for (auto& name : *names) {
    const auto figures = co_await queues.figures(std::move(name));
    // The queue may just have been deleted.
    if (!figures && figures.error().code != ErrorCode::kQueueNotFound) co_return;
    if (!figures) continue;
    sample.ready += figures->ready;
    sample.in_flight += figures->in_flight;
    sample.in_rate += figures->in_rate;
    sample.out_rate += figures->out_rate;
    if (figures->ready > 0) sample.oldest = std::max(sample.oldest, figures->oldest);
  }
  const auto poison = co_await queues.figures(std::string(jobs::kPoisonQueue));
  if (poison) sample.poison = poison->messages;
  sample.at = clock.now();
  MutexLock lock(mutex_);
  sample.requests = std::exchange(requests_, 0);
  sample.refused = std::exchange(refused_, 0);
  const auto taken = std::exchange(taken_, {});
  if (sample.requests > 0) sample.mean = taken / static_cast<std::int64_t>(sample.requests);
  samples_.push_back(sample);
  if (samples_.size() > kMost) samples_.pop_front();
}

std::vector<RecentSample> RecentFigures::samples() const {
  MutexLock lock(mutex_);
  return {samples_.begin(), samples_.end()};
}

}  // namespace tidemark::api
