#include "jobs/store/endings.h"

#include <nlohmann/json.hpp>

#include "common/base/encoding.h"
#include "common/base/fail_points.h"
#include "common/base/text.h"
#include "jobs/spec/job_trace.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using queue_service::FollowUp;

const FailStep kTellStep("ending.tell");

// The callback must arrive even if its endpoint is away for an hour or two.
constexpr std::uint32_t kTellAttempts = 20;
constexpr std::uint32_t kTellRetryCapMs = 600'000;
constexpr Duration kKeyRetention = std::chrono::hours(24 * 7);
constexpr std::size_t kToldErrorBytes = 800;

FollowUp follow_up_of(std::string id, const JobSpec& spec) {
  FollowUp next;
  next.queue = queue_of(spec);
  next.message = message_of(id, spec);
  next.message.idempotency_key = std::move(id);
  next.message.retention = kKeyRetention;
  return next;
}

/// The callback waits in the queue of the job.
JobSpec callback_of(const JobSpec& ended, const json& body) {
  auto spec = telling_job(*ended.on_end, body, ended.priority);
  spec.queue = ended.queue;
  return spec;
}

/// In the form of Standard Webhooks: type, timestamp, data. Made of values that do not change, so it is reproducible.
json summary_of(const JobRecord& job, const JobSpec& spec) {
  json data = {{"id", job.id},
               {"kind", job.kind},
               {"state", state_name(job.state)},
               {"done", job.done},
               {"skipped", job.skipped},
               {"attempts", job.attempts},
               {"submittedAt", to_iso8601(job.submitted_at)}};
  if (job.started_at) data["startedAt"] = to_iso8601(*job.started_at);
  if (job.finished_at) data["finishedAt"] = to_iso8601(*job.finished_at);
  if (!job.error.empty()) data["error"] = beginning_of(job.error, kToldErrorBytes);
  if (spec.group) data["group"] = group_json(*spec.group);
  return {{"type", "job." + std::string(state_name(job.state))},
          {"timestamp", to_iso8601(job.finished_at.value_or(job.submitted_at))},
          {"data", std::move(data)}};
}

json summary_of(const GroupStatus& status) {
  const auto& group = status.group;
  const auto finished = to_iso8601(group.finished_at.value_or(group.submitted_at));
  json data = {{"id", group.id},
               {"members", group.members},
               {"submittedAt", to_iso8601(group.submitted_at)},
               {"finishedAt", finished}};
  for (const auto& [state, count] : status.states) data[std::string(state_name(state))] = count;
  return {{"type", "group.ended"}, {"timestamp", finished}, {"data", std::move(data)}};
}

/// The job that follows is no job of the rule itself: it has no lane, and no change of its own.
std::optional<Cause> cause_of_follower(const JobSpec& ended) {
  if (!ended.cause) return std::nullopt;
  return Cause{.rule = ended.cause->rule, .chain = ended.cause->chain};
}

}  // namespace

queue_service::PutRequest message_of(std::string_view job_id, const JobSpec& spec) {
  queue_service::PutRequest message;
  message.text = job_message_text(job_id, spec);
  const bool in_lane = spec.cause && !spec.cause->lane.empty();
  message.turns = std::holds_alternative<OwnSpec>(spec.work) || (!spec.key.empty() && !in_lane);
  message.group = message.turns ? spec.key : in_lane ? spec.cause->lane : std::string();
  return message;
}

JobSpec telling_job(const CallbackEndpoint& endpoint, const json& body, Priority priority) {
  CallbackSpec callback;
  static_cast<CallbackEndpoint&>(callback) = endpoint;
  callback.body = body.dump(-1, ' ', false, json::error_handler_t::ignore);
  JobSpec spec;
  spec.work = std::move(callback);
  spec.max_attempts = kTellAttempts;
  spec.retry_cap_ms = kTellRetryCapMs;
  spec.priority = priority;
  return spec;
}

std::string ending_job_id(const JobRecord& ended) {
  return job_id_of_message(ended.finished_at.value_or(ended.submitted_at), "end\n" + ended.id);
}

std::string ending_job_id(const Group& finished) {
  return job_id_of_message(finished.finished_at.value_or(finished.submitted_at), "group-end\n" + finished.id);
}

std::string following_job_id(const JobRecord& succeeded) {
  return job_id_of_message(succeeded.finished_at.value_or(succeeded.submitted_at), "then\n" + succeeded.id);
}

Task<Result<void>> Endings::add(std::vector<FollowUp>& out, std::string id, JobSpec spec) {
  auto next = follow_up_of(std::move(id), spec);
  if (name_of_queue(next.queue) != kDefaultQueue) CO_TRY(co_await queues_.ensure_queue(next.queue));
  out.push_back(std::move(next));
  co_return Result<void>{};
}

Task<Result<std::vector<FollowUp>>> Endings::follow_ups(JobRecord ended, JobSpec spec) {
  std::vector<FollowUp> out;
  const auto trace = job_trace(spec.trace, ended.id);
  if (spec.on_end) {
    auto callback = callback_of(spec, summary_of(ended, spec));
    callback.trace = trace;
    CO_TRY(co_await add(out, ending_job_id(ended), std::move(callback)));
  }
  if (!spec.then.empty() && ended.state == JobState::kSucceeded) {
    auto next = CO_TRY(parse_stored_spec(spec.then));
    next.after = ended.id;
    next.cause = cause_of_follower(spec);
    next.trace = trace;
    CO_TRY(co_await add(out, following_job_id(ended), std::move(next)));
  }
  if (!spec.group) co_return out;
  auto over = CO_TRY(co_await groups_.count_end(*spec.group, ended.id, ended.state));
  if (over && over->group.on_end) {
    const auto& group = over->group;
    auto callback = telling_job(*group.on_end, summary_of(*over), Priority::kNormal);
    CO_TRY(co_await add(out, ending_job_id(group), std::move(callback)));
  }
  co_return out;
}

Task<Result<void>> Endings::tell(JobRecord ended, JobSpec spec) {
  if (!has_followers(spec)) co_return Result<void>{};
  co_return co_await put(CO_TRY(co_await follow_ups(std::move(ended), std::move(spec))));
}

Task<Result<void>> Endings::put(std::vector<FollowUp> messages) {
  for (auto& message : messages) {
    auto put = co_await kTellStep.around(queues_.put(std::move(message.queue), std::move(message.message)));
    // A message that was put before counts as well.
    if (!put && put.error().code != ErrorCode::kIdempotencyKeyReused) co_return fail(std::move(put.error()));
  }
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
