#include "api/rest/api_routes.h"
#include "api/rest/event_stream.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/work_desk.h"
#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

Result<void> Api::may_run(const jobs::JobSpec& spec, const Caller& caller) {
  // Adoption defines the catalog of archived files, and may take a directory from another stack.
  if (std::holds_alternative<jobs::AdoptSpec>(spec.work)) TRY(caller.must_be(Role::kAdmin));
  if (spec.then.empty()) return {};
  return may_run(TRY(jobs::parse_stored_spec(spec.then)), caller);
}

Result<void> Api::admit(const jobs::JobSpec& spec, const Caller& caller) const {
  TRY(may_run(spec, caller));
  std::vector<std::string> problems;
  const auto look_at = [&](const std::string& text, const std::string& at) {
    const auto url = jobs::parse_callback_url(text);
    const auto outcome = url ? callbacks.admit(*url) : Result<void>(fail(url.error()));
    if (!outcome) problems.push_back(at + outcome.error().message);
  };
  const auto reach = jobs::seen_from(jobs.account(), jobs::reach_of(spec));
  for (const auto& url : reach.urls) look_at(url, "url: ");
  if (const auto allowed = jobs::check_accounts(reach, objects.accounts); !allowed) {
    problems.push_back(allowed.error().fields.front().second);
  }
  if (spec.on_end) look_at(spec.on_end->url, "onEnd: ");
  if (!spec.then.empty()) {
    const auto next = admit(TRY(jobs::parse_stored_spec(spec.then)), caller);
    if (!next) problems.push_back("then: " + next.error().fields.front().second);
  }
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Result<void> Api::admit(const jobs::JobBatch& batch, const Caller& caller) const {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < batch.specs.size(); ++i) {
    auto outcome = admit(batch.specs[i], caller);
    if (outcome) continue;
    if (outcome.failed_with(ErrorCode::kAuthorizationPermissionMismatch)) return outcome;
    for (const auto& [name, text] : outcome.error().fields) {
      problems.push_back("jobs[" + std::to_string(i) + "]: " + text);
    }
  }
  jobs::JobSpec whole;
  whole.on_end = batch.on_end;
  if (const auto outcome = admit(whole, caller); !outcome) problems.push_back(outcome.error().fields.front().second);
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Task<Result<jobs::JobSpec>> Api::admitted(Result<std::string> body, Caller caller) const {
  const auto text = CO_TRY(std::move(body));
  auto spec = CO_TRY(jobs::parse_job_spec(text, CO_TRY(co_await work->facts())->kinds));
  CO_TRY(admit(spec, caller));
  co_return spec;
}

Task<Result<void>> Api::check_kinds(jobs::JobSpec spec) const {
  const auto known = CO_TRY(co_await work->facts());
  const auto text = jobs::canonical_text(spec);
  CO_TRY(jobs::parse_job_spec(text, known->kinds));
  co_return Result<void>{};
}

Answer Api::plan(jobs::JobSpec spec) {
  co_return json_response(200,
                          to_json(CO_TRY(co_await jobs::plan_job({jobs, poison, tables, objects}, std::move(spec)))));
}

std::shared_ptr<void> Slots::take() const {
  if (open->fetch_add(1) >= most) {
    open->fetch_sub(1);
    return nullptr;
  }
  return {open.get(), [counter = open](void*) { counter->fetch_sub(1); }};
}

namespace {

/// The description for the audit trail: "archive Packages, PackagesArchive", "redrive poisonKind=archive
/// fingerprint=...".
std::string what_of(const jobs::JobSpec& spec) {
  std::string out(jobs::kind_name(spec));
  const auto reach = jobs::reach_of(spec);
  if (!reach.from.account.empty()) out += " from account " + reach.from.account;
  if (!reach.to.account.empty()) out += " to account " + reach.to.account;
  const auto tables = jobs::tables_of(spec);
  for (std::size_t i = 0; i < tables.size(); ++i) out += (i == 0 ? " " : ", ") + tables[i];
  const auto* poison = jobs::poison_in(spec);
  if (poison == nullptr) return out;
  const auto members = jobs::to_json(spec);
  for (const auto* name : {"poisonQueue", "poisonKind", "poisonSource", "fingerprint", "movedAfter", "movedBefore"}) {
    if (members.contains(name)) out += " " + std::string(name) + "=" + members[name].get<std::string>();
  }
  if (!poison->ids.empty()) out += " poisonIds=" + jobs::joined(poison->ids, ",");
  return out;
}

/// Returns the greatest number of things that the job may touch, if the submission limits it.
std::optional<std::int64_t> most_of(const jobs::JobSpec& spec) {
  const auto* poison = jobs::poison_in(spec);
  auto most = poison != nullptr ? poison->limit : spec.max_affected;
  if (poison != nullptr && !poison->ids.empty()) most = std::min(most.value_or(INT64_MAX), poison->ids.size());
  return most ? std::optional(static_cast<std::int64_t>(*most)) : std::nullopt;
}

constexpr std::int64_t kLongestWaitSeconds = 30;
constexpr Duration kFirstLook = std::chrono::milliseconds(2);
constexpr Duration kLongestPause = std::chrono::milliseconds(100);

/// Waits until the job has ended, or this long, and returns it as it is then. If too many wait, returns at once.
Task<jobs::JobRecord> await_end(Api& api, jobs::JobRecord job, Duration wait) {
  const auto slot = wait > Duration::zero() ? api.streams.take() : nullptr;
  if (!slot) co_return job;
  const auto until = api.clock.monotonic() + wait;
  for (auto pause = kFirstLook; !jobs::is_terminal(job.state) && api.clock.monotonic() < until;
       pause = std::min(2 * pause, kLongestPause)) {
    co_await sleep_for(api.clock, std::min<Duration>(pause, until - api.clock.monotonic()));
    auto found = co_await api.jobs.find(job.id);
    if (found && *found) job = std::move(**found);
  }
  co_return job;
}

Answer submit_job(Api& api, http::Request& request, Action& action, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  auto dry = CO_TRY(parameters.flag("dryRun"));
  const auto wait = CO_TRY(parameters.number("wait", 0, kLongestWaitSeconds));
  auto spec = CO_TRY(co_await api.admitted(co_await request.body->read_all(kMaxBodyBytes), action.caller));
  if (dry) co_return co_await api.plan(std::move(spec));
  CO_TRY(co_await jobs::resolve(api.jobs, jobs::reach_of(spec)));  // checks whether an undo is possible
  if (!spec.trace) spec.trace = request.trace;
  action.detail = what_of(spec);
  action.count = most_of(spec);
  auto submission = CO_TRY(co_await api.jobs.submit(std::move(spec)));
  action.target = submission.job.id;
  submission.job = co_await await_end(api, std::move(submission.job), std::chrono::seconds(wait.value_or(0)));
  co_return submitted(submission);
}

Answer submit_jobs(Api& api, http::Request& request, Action& action, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBatchBytes));
  auto batch = CO_TRY(jobs::parse_job_batch(body, CO_TRY(co_await api.work->facts())->kinds));
  CO_TRY(api.admit(batch, action.caller));
  action.target = batch.group;
  std::vector<Result<jobs::Submission>> submissions;
  if (batch.group.empty()) {
    for (auto& spec : batch.specs) spec.trace = spec.trace ? spec.trace : request.trace;
    submissions = co_await api.jobs.submit_all(std::move(batch.specs));
  } else {
    submissions = CO_TRY(co_await api.jobs.submit_group(std::move(batch)));
  }
  auto results = nlohmann::json::array();
  std::int64_t accepted = 0;
  for (const auto& submission : submissions) {
    if (submission) {
      ++accepted;
      results.push_back({{"status", submission->created ? 202 : 200}, {"job", job_json(submission->job)}});
    } else {
      results.push_back({{"status", http_status_of(submission.error().code)},
                         {"problem", problem_json(submission.error(), request.request_id)}});
    }
  }
  action.count = accepted;
  co_return json_response(200, {{"results", std::move(results)}});
}

Answer list_jobs(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  auto kind = parameters.text("kind");
  auto state = parameters.text("state");
  auto queue = parameters.text("queue");
  if (!queue.empty() && jobs::queues_named(queue).empty()) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue, std::string("queue ").append(jobs::kQueueNameRule) + ".");
  }
  const bool known_kind = kind.empty() || kind == "unknown" || jobs::is_kind(kind) || jobs::is_own_kind_name(kind);
  if (!known_kind || (!state.empty() && !jobs::state_from_name(state))) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue,
                   "kind must be a kind of job and state one of queued, running, succeeded, poisoned, "
                   "cancelled.");
  }
  const auto found = CO_TRY(co_await api.jobs.list(limit, parameters.text("continuation"), std::move(kind),
                                                   std::move(state), std::move(queue)));
  nlohmann::json page{{"jobs", nlohmann::json::array()}, {"searched", found.searched}};
  for (const auto& job : found.jobs) page["jobs"].push_back(co_await job_with_wait(api, job));
  if (!found.continuation.empty()) page["continuation"] = found.continuation;
  co_return json_response(200, page);
}

Answer show_job(Api& api, http::Request&, std::string id) {
  const auto job = CO_TRY(co_await api.jobs.find(std::move(id)));
  if (!job) co_return fail(ErrorCode::kJobNotFound);
  co_return json_response(200, co_await job_in_full(api, *job));
}

Answer show_group(Api& api, http::Request&, std::string id) {
  const auto missing = make_error(ErrorCode::kNotFound, "There is no group of jobs: " + id);
  if (!jobs::is_group_id(id)) co_return fail(missing);
  const auto status = CO_TRY(co_await api.groups.status(std::move(id)));
  if (!status) co_return fail(missing);
  co_return json_response(200, to_json(*status));
}

Answer cancel_job(Api& api, http::Request&, std::string id) {
  co_return json_response(200, job_json(CO_TRY(co_await api.jobs.cancel(std::move(id)))));
}

constexpr Duration kLook = std::chrono::milliseconds(200);

/// A job as server-sent events: event "job" with the job's JSON whenever its record, or the reason why it waits, has
/// changed, and "end" after the last. A comment every few seconds shows that the connection is alive.
class JobEvents final : public http::BodySource {
 public:
  JobEvents(Api& api, std::string job_id, EventStream stream)
      : api_(api), clock_(api.clock), job_id_(std::move(job_id)), stream_(std::move(stream)) {}

  Task<Result<std::string>> next() override {
    auto said = clock_.monotonic();
    while (!ended_ && stream_.goes_on()) {
      if (std::exchange(looked_, true)) co_await sleep_for(clock_, kLook);
      auto found = co_await api_.jobs.find(job_id_);
      // A store that is away for a moment must not end the stream.
      if (found && !found->has_value()) co_return end("gone");
      auto news = found ? co_await news_of(**found) : std::nullopt;
      if (news) {
        auto text = "id: " + std::to_string(seen_) + "\nevent: job\ndata: " + *news + "\n\n";
        if (jobs::is_terminal((*found)->state)) text += end(std::string(jobs::state_name((*found)->state)));
        co_return text;
      }
      if (clock_.monotonic() - said >= kKeepAlive) co_return std::string(": still " + job_id_ + "\n\n");
    }
    co_return std::string();
  }

 private:
  /// Returns the job, if anything about it is new.
  Task<std::optional<std::string>> news_of(const jobs::JobRecord& job) {
    const bool changed = job.version != seen_;
    if (!changed && job.state != jobs::JobState::kQueued) co_return std::nullopt;
    const auto shown = co_await job_in_full(api_, job);
    auto waiting = shown.value("waiting", nlohmann::json());
    if (!changed && waiting == waiting_) co_return std::nullopt;
    seen_ = job.version;
    waiting_ = std::move(waiting);
    co_return json_text(shown);
  }

  std::string end(const std::string& state) {
    ended_ = true;
    return "event: end\ndata: " + json_text(nlohmann::json(state)) + "\n\n";
  }

  Api& api_;
  Clock& clock_;
  std::string job_id_;
  EventStream stream_;
  table_store::Version seen_ = 0;
  nlohmann::json waiting_;
  bool looked_ = false;
  bool ended_ = false;
};

Answer job_events(Api& api, http::Request& request, Action& action, std::string id) {
  const auto job = CO_TRY(co_await api.jobs.find(id));
  if (!job) co_return fail(ErrorCode::kJobNotFound);
  auto slot = api.streams.take();
  if (!slot) {
    co_return fail(ErrorCode::kServerBusy,
                   "As many streams of events are open as max_event_streams allows. Ask for "
                   "the job itself now and then, or try again later.");
  }
  http::Response response;
  response.set("Content-Type", "text/event-stream");
  response.set("Cache-Control", "no-store");
  response.source = std::make_unique<JobEvents>(api, std::move(id),
                                                EventStream(api, request, std::move(action.caller), std::move(slot)));
  co_return response;
}

}  // namespace

std::span<const Route> job_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "v1/jobs", Role::kOperator, submit_job, Entrance::kToken, Trail::kEntryUnlessDry},
      {"GET", "v1/jobs", Role::kViewer, list_jobs},
      {"POST", "v1/jobs/batch", Role::kOperator, submit_jobs},
      {"GET", "v1/jobs/*", Role::kViewer, show_job},
      {"POST", "v1/jobs/*/cancel", Role::kOperator, cancel_job},
      {"GET", "v1/jobs/*/events", Role::kViewer, job_events},
      {"GET", "v1/groups/*", Role::kViewer, show_group},
  };
  return kRoutes;
}

}  // namespace tidemark::api
