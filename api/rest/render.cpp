#include "api/rest/render.h"

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/schedules/schedule_plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

// Specs are stored as text; a message of unknown form is shown as text.
nlohmann::json parsed_or_text(const std::string& text) {
  auto parsed = json_or_discarded(text);
  return parsed.is_discarded() ? nlohmann::json(text) : parsed;
}

/// Some SDKs put a job into its queue in Base64.
nlohmann::json body_json(const std::string& text) {
  auto parsed = parsed_or_text(text);
  if (!parsed.is_string()) return parsed;
  const auto decoded = base64_decode_wrapped(text);
  auto inner = decoded ? json_or_discarded(*decoded) : nlohmann::json();
  return inner.is_object() ? inner : parsed;
}

/// Adds a member, unless it would be empty.
void put(nlohmann::json& out, const char* member, const std::optional<Time>& time) {
  if (time) out[member] = to_iso8601(*time);
}
void put(nlohmann::json& out, const char* member, const std::string& text) {
  if (!text.empty()) out[member] = text;
}

/// Adds the rate and an estimate of the remaining time, once they can be computed.
void add_rate(const jobs::JobRecord& job, nlohmann::json& progress) {
  if (job.state != jobs::JobState::kRunning || !job.claimed_at) return;
  // The record's Timestamp is the time of its last change, when `done` was true. The time before this delivery does not
  // count, because the job may have waited, or its worker may have been dead.
  const auto changed = Time(Ticks(job.version));
  const auto took = seconds(changed - *job.claimed_at);
  if (took <= 0 || job.done <= job.done_before) return;
  const auto rate = static_cast<double>(job.done - job.done_before) / took;
  progress["perSecond"] = rate;
  const auto handled = job.done + job.skipped;
  if (job.total && *job.total > handled) progress["secondsLeft"] = static_cast<double>(*job.total - handled) / rate;
}

}  // namespace

nlohmann::json to_json(const jobs::JobRecord& job) {
  nlohmann::json out{{"id", job.id},
                     {"kind", job.kind},
                     {"state", jobs::state_name(job.state)},
                     {"queue", job.queue},
                     {"spec", parsed_or_text(job.spec)},
                     {"attempts", job.attempts},
                     {"progress", {{"done", job.done}, {"skipped", job.skipped}, {"phase", job.phase}}},
                     {"messageId", job.message_id},
                     {"submittedAt", to_iso8601(job.submitted_at)}};
  if (job.total) out["progress"]["total"] = *job.total;
  add_rate(job, out["progress"]);
  if (!job.result.empty()) out["result"] = parsed_or_text(job.result);
  if (jobs::is_terminal(job.state)) {
    const auto spec = jobs::parse_stored_spec(job.spec);
    if (spec && spec->on_end) out["callbackJob"] = jobs::ending_job_id(job);
    const bool followed = spec && !spec->then.empty() && job.state == jobs::JobState::kSucceeded;
    if (followed) out["thenJob"] = jobs::following_job_id(job);
  }
  if (!job.skips.empty()) out["skips"] = parsed_or_text(job.skips);
  put(out, "notBefore", job.not_before);
  out["history"] = list_json(job.history);
  put(out, "startedAt", job.started_at);
  put(out, "finishedAt", job.finished_at);
  put(out, "worker", job.worker);
  put(out, "error", job.error);
  return out;
}

nlohmann::json to_json(const jobs::GroupStatus& status) {
  const auto& group = status.group;
  nlohmann::json states;
  for (const auto& [state, count] : status.states) states[std::string(jobs::state_name(state))] = count;
  nlohmann::json out{{"id", group.id},
                     {"members", group.members},
                     {"states", std::move(states)},
                     {"submittedAt", to_iso8601(group.submitted_at)}};
  if (group.on_end) out["onEnd"] = jobs::on_end_json(*group.on_end);
  put(out, "finishedAt", group.finished_at);
  if (group.finished_at && group.on_end) out["callbackJob"] = jobs::ending_job_id(group);
  return out;
}

nlohmann::json to_json(const jobs::PoisonRecord& poison) {
  nlohmann::json out{{"id", poison.message_id},
                     {"etag", poison.etag},
                     {"kind", poison.kind},
                     {"body", body_json(poison.body)},
                     {"attempts", list_json(poison.attempts)}};
  put(out, "source", poison.source);
  if (poison.original) out["original"] = *poison.original;
  jobs::add_members(out, poison, jobs::kPoisonFields);
  return out;
}

nlohmann::json to_json(const jobs::SummedGroup& summed) {
  const auto& group = summed.group;
  nlohmann::json out{{"fingerprint", group.fingerprint}, {"kind", group.kind},       {"count", group.count},
                     {"reason", group.reason},           {"samples", group.samples}, {"trend", summed.trend}};
  put(out, "source", group.source);
  put(out, "firstMovedAt", group.first_moved_at);
  put(out, "lastMovedAt", group.last_moved_at);
  return out;
}

nlohmann::json to_json(const jobs::JobPlan& plan) {
  auto samples = nlohmann::json::array();
  for (const auto& sample : plan.samples) {
    samples.push_back({{"partitionKey", sample.key.partition_key},
                       {"rowKey", sample.key.row_key},
                       {"bytes", sample.bytes},
                       {"steps", sample.steps}});
  }
  return {{"kind", plan.kind},       {"keys", plan.keys},  {"bytes", plan.bytes},      {"complete", plan.complete},
          {"seconds", plan.seconds}, {"samples", samples}, {"problems", plan.problems}};
}

nlohmann::json to_json(const jobs::Limit& limit) {
  nlohmann::json out = {{"scope", jobs::scope_name(limit.target.scope)},
                        {"name", limit.target.name},
                        {"maxRunning", limit.max_running},
                        {"maxPerSecond", limit.max_per_second}};
  if (limit.target.scope == jobs::LimitScope::kPartition) out["partitionKey"] = limit.target.partition_key;
  return out;
}

nlohmann::json kind_json(const jobs::Limit& limit) {
  nlohmann::json out{{"kind", limit.target.name}};
  jobs::add_members(out, limit, jobs::kLimitFields);
  return out;
}

nlohmann::json to_json(const jobs::WorkerInfo& worker, bool alive) {
  nlohmann::json out{{"name", worker.name}, {"alive", alive}};
  jobs::add_members(out, worker, jobs::kWorkerFields);
  auto left = std::string_view(worker.queues);
  if (!left.empty()) out["queues"] = nlohmann::json::array();
  while (!left.empty()) out["queues"].push_back(take_item(left));
  return out;
}

namespace {

constexpr jobs::Names<jobs::Relation, 3> kRelations{{{jobs::Relation::kWouldTake, "wouldTake"},
                                                     {jobs::Relation::kGaveUp, "gaveUp"},
                                                     {jobs::Relation::kNamed, "named"}}};

/// Adds a table or, for an archive outside of tables, the archive.
void put_location(nlohmann::json& out, const jobs::Location& location) {
  put(out, "account", location.account);
  if (location.archive) {
    out["archive"] = jobs::members_json(*location.archive);
  } else {
    out["table"] = location.table;
  }
}

nlohmann::json place_json(const jobs::EntityPlace& place) {
  nlohmann::json out{{"store", store_of(place.location)},
                     {"name", name_of(place.location)},
                     {"partitionKey", place.key.partition_key},
                     {"rowKey", place.key.row_key},
                     {"present", place.present}};
  put(out, "account", place.location.account);
  if (place.version != 0) out["timestamp"] = to_iso8601(Time(Ticks(place.version)));
  if (place.source_version) out["sourceTimestamp"] = to_iso8601(Time(Ticks(*place.source_version)));
  put(out, "job", place.job);
  if (place.record) {
    out["jobKind"] = place.record->kind;
    out["jobState"] = jobs::state_name(place.record->state);
    put(out, "jobFinishedAt", place.record->finished_at);
  }
  for (const auto& blob : place.blobs) {
    out["blobs"].push_back({{"property", blob.property},
                            {"container", blob.link.container},
                            {"name", blob.link.name},
                            {"bytes", blob.link.size},
                            {"present", blob.present}});
  }
  put(out, "problem", place.problem);
  if (!place.location.archive) return out;
  out["archive"] = jobs::members_json(*place.location.archive);
  out["objects"] = place.objects;
  out["mayBeIn"] = place.may_be_in;
  return out;
}

nlohmann::json entity_job_json(const jobs::EntityJob& job) {
  nlohmann::json out{{"relation", name_in(kRelations, job.relation)},
                     {"id", job.record.id},
                     {"kind", job.record.kind},
                     {"state", jobs::state_name(job.record.state)},
                     {"submittedAt", to_iso8601(job.record.submitted_at)}};
  put(out, "finishedAt", job.record.finished_at);
  put_location(out, job.from);
  return out;
}

}  // namespace

nlohmann::json to_json(const jobs::Explanation& explanation) {
  auto upcoming = nlohmann::json::array();
  for (const auto& schedule : explanation.schedules) {
    auto& next = upcoming.emplace_back();
    next = {{"name", schedule.name}, {"kind", schedule.kind}, {"dueTime", to_iso8601(schedule.due)}};
    put_location(next, schedule.from);
  }
  const auto& asked = explanation.places.front();
  return {{"table", asked.location.table},
          {"partitionKey", asked.key.partition_key},
          {"rowKey", asked.key.row_key},
          {"places", list_json(explanation.places, place_json)},
          {"jobs", list_json(explanation.jobs, entity_job_json)},
          {"schedules", std::move(upcoming)},
          {"looked",
           {{"jobs", explanation.looked_at_jobs},
            {"schedules", explanation.looked_at_schedules},
            {"places", explanation.places.size()}}},
          {"complete", explanation.complete}};
}

nlohmann::json to_json(const jobs::Schedule& schedule, const jobs::JobRecord* last, Time now) {
  const auto& state = schedule.state;
  nlohmann::json out = jobs::to_json(schedule.spec);
  out["name"] = schedule.name;
  out["paused"] = state.paused;
  out["createdAt"] = to_iso8601(schedule.created_at);
  out["runs"] = state.runs;
  out["skipped"] = state.skipped;
  out["missed"] = state.missed;
  if (const auto timetable = jobs::Timetable::of(schedule.spec)) {
    if (const auto next = next_run(*timetable, schedule, now)) out["nextRun"] = to_iso8601(*next);
  }
  if (state.last_due) {
    auto& run = out["lastRun"] = {{"dueTime", to_iso8601(*state.last_due)}};
    put(run, "submittedAt", state.last_at);
    put(run, "problem", state.last_problem);
    if (state.last_problem.empty() && !state.last_job.empty()) run["job"] = state.last_job;
    if (state.last_problem.empty() && last != nullptr) run["jobState"] = jobs::state_name(last->state);
  }
  return out;
}

nlohmann::json to_json(const std::pair<std::string, queue_service::QueueFigures>& queue) {
  const auto& figures = queue.second;
  return {{"name", queue.first},
          {"messages", figures.messages},
          {"ready", figures.ready},
          {"delayed", figures.delayed},
          {"inFlight", figures.in_flight},
          {"waiting", figures.waiting},
          {"poison", figures.poison},
          {"oldestAgeSeconds", seconds(figures.oldest)},
          {"inPerSecond", figures.in_rate},
          {"outPerSecond", figures.out_rate},
          {"paused", figures.paused},
          {"maxDequeueCount", figures.max_dequeue_count},
          {"parts", figures.parts}};
}

std::string json_text(const nlohmann::json& body) {
  return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

http::Response json_response(unsigned status, const nlohmann::json& body) {
  http::Response response;
  response.status = status;
  response.set("Content-Type", "application/json");
  response.set("Cache-Control", "no-store");
  response.body = json_text(body);
  return response;
}

http::Response no_content() {
  http::Response response;
  response.status = 204;
  return response;
}

http::Response submitted(const jobs::Submission& submission) {
  auto response = json_response(submission.created ? 202 : 200, to_json(submission.job));
  response.set("Location", "/v1/jobs/" + submission.job.id);
  return response;
}

nlohmann::json problem_json(const Error& error, const std::string& request_id) {
  nlohmann::json body{
      {"type", "about:blank"},   {"title", default_message_of(error.code)}, {"status", http_status_of(error.code)},
      {"detail", error.message}, {"code", azure_name_of(error.code)},       {"requestId", request_id}};
  for (const auto& [name, value] : error.fields) {
    if (name == "problem") body["problems"].push_back(value);
  }
  return body;
}

http::Response problem(const Error& error, const std::string& request_id) {
  http::Response response;
  response.status = http_status_of(error.code);
  response.set("Content-Type", "application/problem+json");
  response.set("x-request-id", request_id);
  if (error.code == ErrorCode::kUnauthorized) response.set("WWW-Authenticate", "Bearer");
  response.body = json_text(problem_json(error, request_id));
  return response;
}

}  // namespace tidemark::api
