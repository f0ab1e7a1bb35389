#include "workers/runtime/worker_loop.h"

#include <boost/asio/strand.hpp>

#include "common/base/side_by_side.h"

namespace tidemark::workers {
namespace {

constexpr std::size_t kMostAtOnce = 32;  // the protocol's limit for one receive

}  // namespace

std::shared_ptr<WorkerLoop> WorkerLoop::create(WorkerOptions options, JobServices services, const Executor& executor,
                                               RunObserver observer) {
  return std::shared_ptr<WorkerLoop>(
      new WorkerLoop(std::move(options), std::move(services), executor, std::move(observer)));
}

WorkerLoop::WorkerLoop(WorkerOptions options, JobServices services, const Executor& executor, RunObserver observer)
    : options_(std::move(options)),
      services_(std::move(services)),
      gate_(services_.tables, services_.clock, options_.runner.lease),
      runner_(options_.runner, services_, gate_),
      batch_(options_.runner, services_, gate_),
      lanes_(options_.lanes),
      strand_(asio::make_strand(executor)),
      observer_(std::move(observer)) {}

void WorkerLoop::start() { spawn(strand_, fetch(shared_from_this())); }

Task<void> WorkerLoop::fetch(std::shared_ptr<WorkerLoop> self) {
  while (!self->stopping_) {
    const auto lane = self->busy_ < self->options_.concurrency ? self->lanes_.next() : std::nullopt;
    if (!lane) {
      co_await self->changed_.wait(self->services_.clock, std::chrono::hours(1));
      continue;
    }
    const auto slots =
        self->small_jobs_ ? kMostAtOnce : std::min(self->options_.concurrency - self->busy_, kMostAtOnce);
    auto received = co_await self->services_.queues.receive_some(
        self->options_.lanes[*lane].queue, self->options_.runner.lease, self->lanes_.share(*lane, slots));
    if (!received) {
      co_await self->back_off(*lane, std::move(received.error()));
      continue;
    }
    self->failures_ = 0;
    if (!received->empty()) {
      self->lanes_.took_more(*lane, received->size() - 1);
      co_await self->take_all(*lane, std::move(*received));
      continue;
    }
    self->lanes_.set_filled(*lane, false);
    spawn(self->strand_, watch(self, *lane));
  }
}

Task<void> WorkerLoop::watch(std::shared_ptr<WorkerLoop> self, std::size_t lane) {
  while (!self->stopping_) {
    auto received = co_await self->services_.queues.receive(self->options_.lanes[lane].queue,
                                                            self->options_.runner.lease, self->options_.poll);
    if (!received) {
      co_await self->back_off(lane, std::move(received.error()));
      continue;
    }
    self->failures_ = 0;
    if (!received->has_value()) continue;
    std::vector<queue_service::Message> messages;
    messages.push_back(std::move(**received));
    co_await self->take_all(lane, std::move(messages));
    break;
  }
  self->lanes_.set_filled(lane, true);
  self->changed_.notify_all();
}

Task<void> WorkerLoop::take_all(std::size_t lane, std::vector<queue_service::Message> messages) {
  auto queue = options_.lanes[lane].queue;
  std::vector<SmallJob> small;
  std::vector<queue_service::Message> others;
  for (auto& message : messages) {
    if (auto job = small_job(message, queue, options_.runner.traces)) {
      small.push_back(std::move(*job));
    } else {
      others.push_back(std::move(message));
    }
  }
  small_jobs_ = others.empty();
  if (!small.empty() && !stopping_ && busy_ < options_.concurrency) {
    ++busy_;
    spawn(strand_, serve_together(shared_from_this(), queue, std::move(small), services_.clock.now()));
  } else {
    for (auto& job : small) others.push_back(std::move(job.message));
  }
  for (auto& message : others) {
    co_await take(lane, std::move(message));
  }
}

Task<void> WorkerLoop::take(std::size_t lane, queue_service::Message message) {
  auto queue = options_.lanes[lane].queue;
  if (stopping_ || busy_ >= options_.concurrency) {
    co_await give_back(std::move(queue), std::move(message));
    co_return;
  }
  ++busy_;
  spawn(strand_, serve(shared_from_this(), std::move(queue), std::move(message), services_.clock.now()));
}

Task<void> WorkerLoop::give_back(std::string queue, queue_service::Message message) {
  auto lease = queue_service::lease_of(std::move(queue), message);
  std::ignore = co_await services_.queues.release(std::move(lease), Duration::zero(), std::move(message.annotation),
                                                  false);  // if it fails, the lease expires
}

Task<void> WorkerLoop::serve_together(std::shared_ptr<WorkerLoop> self, std::string queue, std::vector<SmallJob> jobs,
                                      Time taken) {
  auto outcome = co_await self->batch_.run(queue, std::move(jobs), taken);
  if (self->observer_) {
    for (const auto& report : outcome.ended) self->observer_(report, self->services_.clock.now() - taken);
  }
  if (!outcome.left.empty()) {
    auto served = co_await side_by_side(self->services_.clock, outcome.left.size(), [&](std::size_t number) {
      return self->serve_one(queue, std::move(outcome.left[number]), taken);
    });
    static_cast<void>(served.has_value());
  }
  --self->busy_;
  self->changed_.notify_all();
}

Task<Result<void>> WorkerLoop::serve_one(std::string queue, queue_service::Message message, Time taken) {
  std::shared_ptr<const bool> give_back = give_back_;
  auto report = co_await runner_.run(std::move(message), taken, std::move(give_back), std::move(queue));
  if (observer_) observer_(report, services_.clock.now() - taken);
  co_return Result<void>{};
}

Task<void> WorkerLoop::serve(std::shared_ptr<WorkerLoop> self, std::string queue, queue_service::Message message,
                             Time taken) {
  std::ignore = co_await self->serve_one(std::move(queue), std::move(message), taken);
  --self->busy_;
  self->changed_.notify_all();
}

Task<void> WorkerLoop::back_off(std::size_t lane, Error error) {
  if (error.code == ErrorCode::kQueueNotFound) {
    // The queue was never used, it was deleted, or the store was replaced by an empty one.
    const auto made = co_await services_.queues.ensure_queue(options_.lanes[lane].queue);
    const auto ready = co_await services_.jobs.ensure_ready();
    if (made && ready) co_return;
  }
  const auto pause = options_.runner.retry.backoff(++failures_, services_.random);
  co_await changed_.wait(services_.clock, std::max<Duration>(pause, std::chrono::milliseconds(10)));
}

Task<void> WorkerLoop::drain(Duration limit) {
  auto self = shared_from_this();
  stopping_ = true;
  changed_.notify_all();
  co_await services_.queues.end_waits();
  co_await wait_idle(limit);
  *give_back_ = true;
  co_await wait_idle(options_.runner.lease);
}

Task<void> WorkerLoop::wait_idle(Duration limit) {
  const auto until = services_.clock.now() + limit;
  while (busy_ > 0 && services_.clock.now() < until) {
    co_await changed_.wait(services_.clock, until - services_.clock.now());
  }
}

}  // namespace tidemark::workers
