#include "api/rest/waiting.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "api/rest/render.h"

namespace tidemark::api {
namespace {

constexpr std::uint32_t kMostWorkers = 1000;

}  // namespace

Task<Waiting> Waiting::look(Api& api) {
  Waiting out;
  out.now_ = api.clock.now();
  for (const auto name : {jobs::kHighQueue, jobs::kJobQueue, jobs::kLowQueue}) {
    auto figures = co_await api.queues.figures(std::string(name));
    if (figures) out.queues_.emplace(name, *figures);
  }
  auto limits = co_await api.limits.list();
  if (limits) out.limits_ = std::move(*limits);
  auto page = co_await api.workers.list(kMostWorkers, {});
  if (!page) co_return out;
  std::erase_if(page->workers,
                [&](const auto& worker) { return out.now_ - worker.heartbeat_at >= jobs::kHeartbeatLost; });
  out.workers_ = std::move(page->workers);
  co_return out;
}

std::string Waiting::why(const jobs::JobRecord& job) const {
  if (job.state != jobs::JobState::kQueued) return {};
  if (job.not_before && *job.not_before > now_) return "it is not to begin before " + to_iso8601(*job.not_before);
  const auto limit = std::ranges::find(limits_, jobs::kind_target(job.kind), &jobs::Limit::target);
  if (limit != limits_.end() && limit->paused) return "jobs of kind " + job.kind + " are paused";
  const auto spec = jobs::parse_stored_spec(job.spec);
  const auto name = spec ? jobs::queue_of(spec->priority) : jobs::kJobQueue;
  const auto queue = queues_.find(name);
  if (queue != queues_.end() && queue->second.paused) return "the queue " + std::string(name) + " is paused";
  if (workers_ && workers_->empty()) return "no worker lives";
  if (job.attempts > 0) return "its last attempt failed, and the next one follows after a pause";
  if (limit != limits_.end() && limit->max_running > 0) {
    return "at most " + std::to_string(limit->max_running) + " jobs of kind " + job.kind + " run at once";
  }
  const bool full =
      workers_ && std::ranges::all_of(*workers_, [](const auto& each) { return each.running >= each.concurrency; });
  if (full) return "all workers are busy";
  if (queue == queues_.end() || queue->second.ready < 2) return {};
  return std::to_string(queue->second.ready) + " jobs are ready in the queue " + std::string(name);
}

nlohmann::json job_json(const jobs::JobRecord& job, const Waiting* waiting) {
  auto out = to_json(job);
  auto why = waiting == nullptr ? std::string() : waiting->why(job);
  if (!why.empty()) out["waitsFor"] = std::move(why);
  return out;
}

}  // namespace tidemark::api
