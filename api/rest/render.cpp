#include "api/rest/render.h"

#include "api/rest/waits.h"
#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/base/text.h"
#include "jobs/kinds/kinds.h"

namespace tidemark::api {
namespace {

using jobs::SpecMembers;
using nlohmann::json;
using nlohmann::ordered_json;

// Specs are stored as text; a message of unknown form is shown as text.
json parsed_or_text(const std::string& text) {
  auto parsed = json_or_discarded(text);
  return parsed.is_discarded() ? json(text) : parsed;
}

/// Some SDKs put a job into its queue in Base64.
json body_json(const std::string& text) {
  auto parsed = parsed_or_text(text);
  if (!parsed.is_string()) return parsed;
  const auto decoded = base64_decode_wrapped(text);
  auto inner = decoded ? json_or_discarded(*decoded) : json();
  return inner.is_object() ? inner : parsed;
}

/// Returns what an optional member shows: nothing if the condition is false.
template <class T>
std::optional<T> when(bool condition, T value) {
  return condition ? std::optional(std::move(value)) : std::nullopt;
}

constexpr std::array<std::string_view, 8> kOutcomesOfAttempts{"succeeded", "failed",      "lost",          "cancelled",
                                                              "ended",     jobs::kEdited, jobs::kSentBack, ""};

struct ShownAttempt {
  jobs::Attempt attempt;
  static constexpr const char* kSchema = "Attempt";
  void members(SpecMembers& to) const {
    const bool ran = attempt.number > 0, failed = !attempt.code.empty();
    to.shows("round", attempt.round, {.meaning = "begins anew each time that the message is sent back"});
    to.shows("number", when(ran, attempt.number), {.meaning = "within the round; a mark between attempts has none"});
    to.shows_unless_empty("by", attempt.by,
                          {.meaning = "of a mark: the address of a caller, or the id of a redrive job"});
    to.shows("done", when(attempt.done > 0, attempt.done),
             {.meaning = "of an edit: what the job had done until then; it counts anew"});
    to.shows("worker", when(ran, attempt.worker));
    to.shows("startedAt", attempt.started_at);
    to.shows("durationMs", when(ran, attempt.duration_ms));
    to.shows("outcome", attempt.outcome, {.one_of = kOutcomesOfAttempts});
    to.shows("errorClass", when(failed, attempt.error_class));
    to.shows("code", when(failed, attempt.code));
    to.shows("message", when(failed, std::string(beginning_of(attempt.message, jobs::kMaxKeptErrorBytes))));
  }
};

struct JobProgress {
  std::uint64_t done = 0, skipped = 0;
  std::optional<std::uint64_t> total;
  std::string phase;
  std::optional<double> per_second, seconds_left;
  void members(SpecMembers& to) const {
    to.shows("done", done);
    to.shows("skipped", skipped);
    to.shows("total", total);
    to.shows("phase", phase);
    to.shows("perSecond", per_second);
    to.shows("secondsLeft", seconds_left);
  }
};

/// Has the rate and an estimate of the remaining time, once they can be computed.
JobProgress progress_of(const jobs::JobRecord& job) {
  JobProgress out{job.done, job.skipped, job.total, job.phase, {}, {}};
  if (job.state != jobs::JobState::kRunning || !job.claimed_at) return out;
  // The record's Timestamp is the time of its last change, when `done` was true. The time before this delivery does not
  // count, because the job may have waited, or its worker may have been dead.
  const auto changed = Time(Ticks(job.version));
  const auto took = seconds(changed - *job.claimed_at);
  if (took <= 0 || job.done <= job.done_before) return out;
  const auto rate = static_cast<double>(job.done - job.done_before) / took;
  out.per_second = rate;
  const auto handled = job.done + job.skipped;
  if (job.total && *job.total > handled) out.seconds_left = static_cast<double>(*job.total - handled) / rate;
  return out;
}

constexpr jobs::About kAboutCallbackJob{.meaning = "the job that calls the endpoint of onEnd"};

struct ShownJob {
  jobs::JobRecord job;
  std::optional<Wait> waiting;
  std::optional<TransactionFacts> transaction;
  static constexpr const char* kSchema = "Job";
  void members(SpecMembers& to) const {
    to.shows("id", job.id);
    to.shows("kind", job.kind, {.meaning = "unknown: a message that cannot be read"});
    to.shows("state", jobs::kJobStates, job.state);
    to.shows("queue", job.queue);
    to.shows("spec", to.writes() ? parsed_or_text(job.spec) : json(),
             {.meaning = "the job as submitted, defaults filled in; the text of a message that cannot be read"});
    to.shows("attempts", job.attempts);
    to.shows("progress", progress_of(job));
    show_result(to);
    to.shows("transaction", transaction, {.meaning = "how far a transaction has come; told of a single job"});
    to.shows("history", shown_all<ShownAttempt>(job.history));
    to.shows("messageId", job.message_id);
    to.shows("submittedAt", job.submitted_at);
    to.shows("waiting", waiting, {.meaning = "why a queued job does not run yet"});
    to.shows("notBefore", job.not_before);
    to.shows("startedAt", job.started_at);
    to.shows("finishedAt", job.finished_at);
    to.shows_unless_empty("worker", job.worker);
    to.shows_unless_empty("error", job.error);
  }

 private:
  void show_result(SpecMembers& to) const {
    const auto parsed = [](const std::string& text) { return text.empty() ? json() : parsed_or_text(text); };
    const auto spec = jobs::is_terminal(job.state) ? jobs::parse_stored_spec(job.spec) : Result<jobs::JobSpec>({});
    const bool calls = spec && spec->on_end;
    const bool followed = spec && !spec->then.empty() && job.state == jobs::JobState::kSucceeded;
    to.shows_json("result", ordered_json::object(), parsed(job.result),
                  {.meaning = "what the job found; of a callback the status, the time it took and the beginning of the "
                              "answer"});
    to.shows("callbackJob", calls ? std::optional(jobs::ending_job_id(job)) : std::nullopt, kAboutCallbackJob);
    to.shows("thenJob", followed ? std::optional(jobs::following_job_id(job)) : std::nullopt,
             {.meaning = "the job that its success began"});
    to.shows_json("checkpoint", ordered_json::object(), parsed(job.checkpoint),
                  {.meaning = "what a worker of yours saved last"});
    to.shows_json("end", ordered_json::object(), parsed(job.end_steps),
                  {.meaning = "the guards, steps and result with which a worker of yours has ended it"});
    to.shows_json("skips", skips_schema(), parsed(job.skips), {.meaning = "entities that were skipped, by reason"});
  }
  static ordered_json skips_schema() {
    struct Skip {
      void members(SpecMembers& in) const {
        const json keys{{"type", "array"}, {"items", {{"type", "string"}}}, {"minItems", 2}, {"maxItems", 2}};
        in.shows("reason", std::string());
        in.shows("count", std::uint64_t{});
        in.shows_json("samples", {{"type", "array"}, {"items", keys}}, json(), {}, true);
      }
    };
    return jobs::schema_of_shown<std::vector<Skip>>();
  }
};

struct ShownStates {
  std::map<jobs::JobState, std::uint64_t> states;
  void members(SpecMembers& to) const {
    for (const auto& [state, name] : jobs::kJobStates) {
      const auto count = states.find(state);
      const auto text = std::string(name);
      to.shows(text.c_str(), count == states.end() ? 0 : count->second);
    }
  }
};

struct ShownGroup {
  jobs::GroupStatus status;
  static constexpr const char* kSchema = "Group";
  void members(SpecMembers& to) const {
    const auto& group = status.group;
    auto on_end = group.on_end;
    const bool calls = group.finished_at && group.on_end;
    to.shows("id", group.id);
    to.shows("members", group.members);
    to.shows("states", ShownStates{status.states}, {.meaning = "members by state; a member counts by its first end"});
    jobs::on_end_member(to, on_end);
    to.shows("submittedAt", group.submitted_at);
    to.shows("finishedAt", group.finished_at);
    to.shows("callbackJob", calls ? std::optional(jobs::ending_job_id(group)) : std::nullopt, kAboutCallbackJob);
  }
};

constexpr jobs::About kAboutSource{.meaning = "the table that the jobs read"};

struct ShownPoison {
  jobs::PoisonRecord poison;
  static constexpr const char* kSchema = "Poison";
  void members(SpecMembers& to) const {
    to.shows("id", poison.message_id);
    to.shows("etag", poison.etag, {.meaning = "for If-Match"});
    to.shows("jobId", poison.job_id);
    to.shows("kind", poison.kind);
    to.shows_unless_empty("source", poison.source, kAboutSource);
    to.shows("reason", poison.reason);
    to.shows("fingerprint", poison.fingerprint);
    to.shows("queue", poison.queue);
    to.shows("redrives", poison.redrives);
    to.shows("editedEpoch", when(poison.edited_epoch > 0, poison.edited_epoch),
             {.meaning = "the last delivery before the text was edited; its work does not count for the new text"});
    to.shows("body", to.writes() ? body_json(poison.body) : json());
    to.shows("original", poison.original, kAboutOriginalText);
    to.shows("movedAt", poison.moved_at);
    to.shows("attempts", shown_all<ShownAttempt>(poison.attempts));
  }
};

struct ShownPoisonGroup {
  jobs::SummedGroup summed;
  static constexpr const char* kSchema = "PoisonGroup";
  void members(SpecMembers& to) const {
    const auto& group = summed.group;
    to.shows("fingerprint", group.fingerprint);
    to.shows("kind", group.kind);
    to.shows_unless_empty("source", group.source, kAboutSource);
    to.shows("count", group.count);
    to.shows("reason", group.reason);
    to.shows("samples", group.samples, {.meaning = "ids of messages"});
    to.shows("trend", std::vector(summed.trend.begin(), summed.trend.end()),
             {.meaning = "how many became poison in each of the last 24 hours, the oldest first"});
    to.shows("firstMovedAt", group.first_moved_at);
    to.shows("lastMovedAt", group.last_moved_at);
  }
};

struct ShownSample {
  jobs::PlanSample sample;
  void members(SpecMembers& to) const {
    to.shows("partitionKey", sample.key.partition_key);
    to.shows("rowKey", sample.key.row_key);
    to.shows("bytes", sample.bytes);
    to.shows("steps", sample.steps);
  }
};

struct ShownPlan {
  jobs::JobPlan plan;
  static constexpr const char* kSchema = "Plan";
  void members(SpecMembers& to) const {
    to.shows("kind", plan.kind);
    to.shows("keys", plan.keys);
    to.shows("bytes", plan.bytes);
    to.shows("complete", plan.complete,
             {.meaning = "false: keys and bytes were counted up to a limit, there may be more"});
    to.shows("seconds", plan.seconds);
    to.shows("samples", shown_all<ShownSample>(plan.samples));
    to.shows("problems", plan.problems, {.meaning = "the reasons why it would fail now"});
  }
};

struct ShownWorker {
  jobs::WorkerInfo worker;
  bool alive = false;
  static constexpr const char* kSchema = "Worker";
  void members(SpecMembers& to) const {
    std::vector<std::string> queues;
    for (auto left = std::string_view(worker.queues); !left.empty();) queues.emplace_back(take_item(left));
    to.shows("name", worker.name);
    to.shows("alive", alive);
    to.shows("own", when(worker.own, true), {.meaning = "true: it claims jobs of kinds of your own over HTTP"});
    to.shows("quiet", when(worker.quiet, true), {.meaning = "true: it is to take nothing more"});
    to.shows("host", worker.host);
    to.shows("pid", worker.pid);
    to.shows("concurrency", worker.concurrency);
    to.shows("running", worker.running);
    to.shows("version", worker.version);
    const bool known = !queues.empty();
    to.shows("queues", when(known, std::move(queues)),
             {.meaning = "the queues that it takes jobs from",
              .detail = "absent for a worker of an older version, which takes from those of the priorities"});
    to.shows("startedAt", worker.started_at);
    to.shows("heartbeatAt", worker.heartbeat_at);
  }
};

struct ShownQueue {
  std::string name;
  queue_service::QueueFigures figures;
  static constexpr const char* kSchema = "Queue";
  void members(SpecMembers& to) const {
    to.shows("name", name);
    to.shows("messages", figures.messages, {.meaning = "ready, delayed, in flight and waiting together"});
    to.shows("ready", figures.ready, {.meaning = "messages that could be taken now"});
    to.shows("delayed", figures.delayed, {.meaning = "messages that are not visible yet"});
    to.shows("inFlight", figures.in_flight, {.meaning = "messages that are taken, and whose lease has not ended"});
    to.shows("waiting", figures.waiting, {.meaning = "messages behind another one of their group"});
    to.shows("poison", figures.poison, {.meaning = "messages in NAME-poison"});
    to.shows("oldestAgeSeconds", figures.oldest,
             {.meaning = "time for which the next message could have been taken; 0 if there is none"});
    to.shows("inPerSecond", figures.in_rate, {.meaning = "messages put, over the last minute or two"});
    to.shows("outPerSecond", figures.out_rate, {.meaning = "messages finished or moved, over the last minute or two"});
    to.shows("paused", figures.paused);
    to.shows("maxDequeueCount", figures.max_dequeue_count,
             {.meaning = "a message that was taken so often goes to NAME-poison; 0: never"});
    to.shows("parts", figures.parts, {.meaning = "parts of a queue that is spread over several shards; 0: it is not"});
  }
};

struct ShownProblem {
  Error error;
  std::string request_id;
  static constexpr const char* kSchema = "Problem";
  void members(SpecMembers& to) const {
    std::vector<std::string> problems;
    for (const auto& [name, value] : error.fields) {
      if (name == "problem") problems.push_back(value);
    }
    to.shows("type", std::string("about:blank"));
    to.shows("title", std::string(default_message_of(error.code)));
    to.shows("status", http_status_of(error.code));
    to.shows("detail", error.message);
    to.shows("code", std::string(azure_name_of(error.code)));
    to.shows("requestId", request_id);
    const bool several = !problems.empty();
    to.shows("problems", when(several, std::move(problems)));
  }
};

}  // namespace

json job_json(const jobs::JobRecord& job, std::optional<Wait> waiting, std::optional<TransactionFacts> transaction) {
  return json_of(ShownJob{job, std::move(waiting), std::move(transaction)});
}
json job_json(const jobs::JobRecord& job) { return job_json(job, {}); }
json to_json(const jobs::GroupStatus& status) { return json_of(ShownGroup{status}); }
json to_json(const jobs::PoisonRecord& poison) { return json_of(ShownPoison{poison}); }
json to_json(const jobs::SummedGroup& summed) { return json_of(ShownPoisonGroup{summed}); }
json to_json(const jobs::JobPlan& plan) { return json_of(ShownPlan{plan}); }
json to_json(const jobs::WorkerInfo& worker, bool alive) { return json_of(ShownWorker{worker, alive}); }
json to_json(const std::pair<std::string, queue_service::QueueFigures>& queue) {
  return json_of(ShownQueue{queue.first, queue.second});
}

ordered_json rendered_schemas() {
  ordered_json out;
  jobs::add_answers<ShownAttempt, ShownJob, ShownGroup, ShownPoison, ShownPoisonGroup, ShownPlan, ShownWorker,
                    ShownQueue, ShownProblem>(out);
  return out;
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
  const bool accepted = submission.created && !jobs::is_terminal(submission.job.state);
  auto response = json_response(accepted ? 202 : 200, job_json(submission.job));
  response.set("Location", "/v1/jobs/" + submission.job.id);
  return response;
}

nlohmann::json problem_json(const Error& error, const std::string& request_id) {
  return json_of(ShownProblem{error, request_id});
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
