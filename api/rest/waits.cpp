#include "api/rest/waits.h"

#include <algorithm>

#include "api/rest/api_routes.h"
#include "api/rest/job_queues.h"
#include "api/rest/render.h"
#include "jobs/spec/job_queues.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/held_lanes.h"

namespace tidemark::api {
namespace {

constexpr Duration kGoodFor = std::chrono::seconds(1);

constexpr jobs::Names<WaitReason, 8> kReasons{{{WaitReason::kNotBefore, "notBefore"},
                                               {WaitReason::kNoWorker, "noWorker"},
                                               {WaitReason::kQueuePaused, "queuePaused"},
                                               {WaitReason::kKindPaused, "kindPaused"},
                                               {WaitReason::kLimit, "limit"},
                                               {WaitReason::kRetry, "retry"},
                                               {WaitReason::kBusy, "busy"},
                                               {WaitReason::kPoison, "poison"}}};

Task<Result<Obstacles>> look(Api& api) {
  Obstacles out;
  const auto limits = CO_TRY(co_await api.limits.list());
  bool with_slots = false;
  for (const auto& limit : limits) {
    with_slots = with_slots || limit.max_running > 0;
    out.limits.emplace(jobs::limit_key(limit.target), limit);
  }
  if (with_slots) out.held = CO_TRY(co_await api.limits.held());
  auto workers = CO_TRY(co_await api.workers.list(1000, {}));
  const auto now = api.clock.now();
  std::erase_if(workers.workers, [now](const auto& each) { return now - each.heartbeat_at >= jobs::kHeartbeatLost; });
  out.workers = std::move(workers.workers);
  for (auto& queue : CO_TRY(co_await job_queues(api.queues))) {
    const auto figures = co_await api.queues.figures(queue);
    if (figures && figures->paused) out.paused_queues.push_back(std::move(queue));
    // The queue may just have been deleted.
    if (!figures && figures.error().code != ErrorCode::kQueueNotFound) co_return fail(figures.error());
  }
  co_return out;
}

/// Describes the limit that is reached; nothing if none is.
std::optional<std::string> full_limit(const jobs::JobRecord& job, const std::vector<std::string>& tables,
                                      const Obstacles& obstacles) {
  std::vector<jobs::LimitTarget> targets{jobs::kind_target(job.kind)};
  for (const auto& table : tables) targets.push_back(jobs::table_target(table));
  for (const auto& target : targets) {
    const auto key = jobs::limit_key(target);
    const auto limit = obstacles.limits.find(key);
    const auto held = obstacles.held.find(key);
    if (limit == obstacles.limits.end() || held == obstacles.held.end()) continue;
    if (limit->second.max_running == 0 || held->second < limit->second.max_running) continue;
    return std::string(jobs::scope_name(target.scope)) + " " + target.name + " may have " +
           std::to_string(limit->second.max_running) + " running at once, and has";
  }
  return std::nullopt;
}

/// Returns the queue where the job waits.
std::string queue_of(const jobs::JobRecord& job, const Result<jobs::JobSpec>& spec) {
  if (spec && std::holds_alternative<jobs::OwnSpec>(spec->work)) return jobs::queue_of(*spec);
  if (job.queue != jobs::kDefaultQueue) return jobs::own_queue(job.queue);
  auto by_priority = spec ? *spec : jobs::JobSpec();
  by_priority.queue.clear();
  return jobs::queue_of(by_priority);
}

/// A job that waits for its canaries has the figures as its error, "ServerBusy: 0 of 2 canaries have ended.", although
/// nothing has failed. Nothing for any other job.
std::optional<std::string> canaries_of(const jobs::JobRecord& job) {
  constexpr std::string_view kEnding = " canaries have ended.";
  const auto figures = job.error.find(": ");
  if (!job.error.ends_with(kEnding) || figures == std::string::npos) return std::nullopt;
  auto text = "it goes on when its canaries have succeeded; " + job.error.substr(figures + 2);
  text.pop_back();
  return text;
}

bool all_busy(const std::vector<jobs::WorkerInfo>& workers) {
  return std::ranges::all_of(workers, [](const auto& each) { return each.running >= each.concurrency; });
}

std::string nobody_takes(const std::string& queue) {
  const auto own = jobs::kind_version_in(jobs::name_of_queue(queue));
  if (!queue.starts_with(jobs::kWorkPrefix) || !own) return "no worker takes jobs from queue " + queue;
  return "no worker of yours claims " + own->kind + "@" + std::to_string(own->version);
}

}  // namespace

void Wait::members(jobs::SpecMembers& to) const {
  to.shows("reason", kReasons, reason);
  to.shows("text", text);
  to.shows("until", until);
}

std::optional<Wait> wait_of(const jobs::JobRecord& job, const Obstacles& obstacles, Time now) {
  if (job.state != jobs::JobState::kQueued) return std::nullopt;
  if (job.not_before && *job.not_before > now) {
    return Wait{WaitReason::kNotBefore, "it begins at " + to_iso8601(*job.not_before), job.not_before};
  }
  if (obstacles.workers.empty()) return Wait{WaitReason::kNoWorker, "no worker is running", {}};
  const auto spec = jobs::parse_stored_spec(job.spec);
  const auto queue = queue_of(job, spec);
  auto workers = obstacles.workers;
  std::erase_if(workers, [&](const jobs::WorkerInfo& each) { return !each.serves(queue); });
  if (workers.empty()) return Wait{WaitReason::kNoWorker, nobody_takes(queue), {}};
  if (std::ranges::find(obstacles.paused_queues, queue) != obstacles.paused_queues.end()) {
    return Wait{WaitReason::kQueuePaused, "queue " + queue + " is paused", {}};
  }
  const auto limit = obstacles.limits.find(jobs::limit_key(jobs::kind_target(job.kind)));
  if (limit != obstacles.limits.end() && limit->second.paused) {
    return Wait{WaitReason::kKindPaused, "kind " + job.kind + " is paused", {}};
  }
  if (auto full = full_limit(job, spec ? jobs::tables_of(*spec) : std::vector<std::string>(), obstacles)) {
    return Wait{WaitReason::kLimit, std::move(*full), {}};
  }
  if (const auto canaries = canaries_of(job)) return Wait{WaitReason::kRetry, *canaries, {}};
  if (!job.error.empty()) return Wait{WaitReason::kRetry, "it is tried again: " + job.error, {}};
  if (all_busy(workers)) {
    return Wait{
        WaitReason::kBusy,
        "all " + std::to_string(workers.size()) + " workers of queue " + queue + " have as many jobs as they take",
        {}};
  }
  return std::nullopt;
}

Task<std::shared_ptr<const Obstacles>> Waits::obstacles(Api& api) {
  const auto now = api.clock.monotonic();
  {
    MutexLock lock(mutex_);
    if (known_ && now - read_at_ < kGoodFor) co_return known_;
  }
  auto seen = co_await look(api);
  if (!seen) co_return nullptr;
  auto fresh = std::make_shared<const Obstacles>(std::move(*seen));
  MutexLock lock(mutex_);
  known_ = fresh;
  read_at_ = now;
  co_return fresh;
}

namespace {

Task<std::optional<Wait>> wait_now(Api& api, const jobs::JobRecord& job) {
  if (job.state != jobs::JobState::kQueued) co_return std::nullopt;
  const auto spec = jobs::parse_stored_spec(job.spec);
  if (spec && jobs::holds_lane(*spec)) {
    jobs::HeldLanes lanes(api.jobs, api.tables);
    const auto holder = co_await lanes.holder(*spec, job.id);
    if (holder && *holder)
      co_return Wait{WaitReason::kPoison, "job " + **holder + " of its rule comes first, and is poison", {}};
  }
  const auto obstacles = co_await api.waits->obstacles(api);
  co_return obstacles ? wait_of(job, *obstacles, api.clock.now()) : std::nullopt;
}

}  // namespace

Task<nlohmann::json> job_with_wait(Api& api, const jobs::JobRecord& job) {
  co_return job_json(job, co_await wait_now(api, job));
}

Task<nlohmann::json> job_in_full(Api& api, const jobs::JobRecord& job) {
  auto waiting = co_await wait_now(api, job);
  co_return job_json(job, std::move(waiting), co_await transaction_facts(api, job));
}

}  // namespace tidemark::api
