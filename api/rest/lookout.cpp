#include "api/rest/lookout.h"

#include <algorithm>

#include "api/rest/api_routes.h"
#include "common/process/failures.h"
#include "queue_service/model/queue_rules.h"

namespace tidemark::api {
namespace {

using Queue = std::pair<std::string, queue_service::QueueFigures>;

constexpr Duration kLookPatience = std::chrono::milliseconds(100);
constexpr Duration kRest = std::chrono::seconds(5);
constexpr int kRestShare =
    100;  // a long walk rests 100 times as long as it took, so that it is a hundredth of the stores' work
constexpr std::uint32_t kPage = 250;

/// The jobs' own poison is reported by its groups.
bool is_remarkable(const Queue& queue) {
  const auto& [name, figures] = queue;
  const bool has_poison = figures.poison > 0 && !jobs::is_job_queue(name);
  const bool waits = figures.ready > 0 && figures.oldest > Lookout::kLong && !queue_service::is_poison_queue(name);
  return has_poison || figures.paused || waits;
}

void keep_worst(Remarkable& seen) {
  const auto rank = [](const Queue& queue) { return std::tuple(queue.second.poison, queue.second.oldest); };
  std::ranges::stable_sort(seen.queues, std::greater(), rank);
  if (seen.queues.size() <= Lookout::kMostTold) return;
  seen.untold += seen.queues.size() - Lookout::kMostTold;
  seen.queues.resize(Lookout::kMostTold);
}

Task<Result<void>> walk_queues(Api& api, Remarkable& seen) {
  std::string continuation;
  do {
    auto page = CO_TRY(co_await api.queues.all_figures(kPage, std::move(continuation)));
    seen.counted += page.queues.size();
    for (auto& queue : page.queues) {
      if (is_remarkable(queue)) seen.queues.push_back(std::move(queue));
    }
    keep_worst(seen);
    continuation = std::move(page.continuation);
  } while (!continuation.empty());
  co_return Result<void>{};
}

Task<Result<Remarkable>> walk(Api& api) {
  Remarkable seen;
  seen.as_of = api.clock.now();
  CO_TRY(co_await walk_queues(api, seen));
  for (auto& lag : CO_TRY(co_await feed_lags(api))) {
    const bool remarkable = lag.stopped || lag.gone || lag.age > Lookout::kLong;
    if (remarkable && seen.readers.size() < Lookout::kMostTold) seen.readers.push_back(std::move(lag));
  }
  co_return seen;
}

}  // namespace

Task<std::shared_ptr<const Remarkable>> Lookout::read(Api& api) {
  bool begins = false;
  Signal::Ticket ticket = 0;
  {
    MutexLock lock(mutex_);
    if (seen_ && api.clock.monotonic() < next_) co_return seen_;
    begins = !std::exchange(walking_, true);
    ticket = told_.ticket();
  }
  if (begins) spawn(co_await asio::this_coro::executor, look(shared_from_this(), api));
  co_await told_.wait(ticket, api.clock, kLookPatience);
  MutexLock lock(mutex_);
  co_return seen_;
}

Task<void> Lookout::look(std::shared_ptr<Lookout> self, Api& api) {
  const auto begun = api.clock.monotonic();
  auto found = co_await walk(api);
  if (!found) process::log_failed_task("api.lookout", found.error());
  const auto now = api.clock.monotonic();
  {
    MutexLock lock(self->mutex_);
    self->walking_ = false;
    self->next_ = now + std::max(kRest, (now - begun) * kRestShare);
    if (found) self->seen_ = std::make_shared<const Remarkable>(std::move(*found));
  }
  self->told_.notify_all();
}

}  // namespace tidemark::api
