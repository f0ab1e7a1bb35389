#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {

Result<void> Api::admit(const jobs::JobSpec& spec) const {
  std::vector<std::string> problems;
  const auto look_at = [&](const std::string& text, const std::string& at) {
    const auto url = jobs::parse_callback_url(text);
    const auto outcome = url ? callbacks.admit(*url) : Result<void>(fail(url.error()));
    if (!outcome) problems.push_back(at + outcome.error().message);
  };
  if (const auto url = jobs::reach_of(spec).url; !url.empty()) look_at(url, "url: ");
  if (spec.on_end) look_at(spec.on_end->url, "onEnd: ");
  if (!spec.then.empty()) {
    const auto next = admit(TRY(jobs::parse_job_spec(spec.then)));
    if (!next) problems.push_back("then: " + next.error().fields.front().second);
  }
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Result<void> Api::admit(const jobs::JobBatch& batch) const {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < batch.specs.size(); ++i) {
    const auto outcome = admit(batch.specs[i]);
    if (outcome) continue;
    for (const auto& [name, text] : outcome.error().fields) {
      problems.push_back("jobs[" + std::to_string(i) + "]: " + text);
    }
  }
  jobs::JobSpec whole;
  whole.on_end = batch.on_end;
  if (const auto outcome = admit(whole); !outcome) problems.push_back(outcome.error().fields.front().second);
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Result<jobs::JobSpec> Api::admitted(const Result<std::string>& body) const {
  auto spec = TRY(jobs::parse_job_spec(TRY(body)));
  TRY(admit(spec));
  return spec;
}

Answer Api::plan(jobs::JobSpec spec) {
  co_return json_response(200,
                          to_json(CO_TRY(co_await jobs::plan_job({jobs, poison, tables, objects}, std::move(spec)))));
}

std::shared_ptr<void> EventStreams::take() const {
  if (open->fetch_add(1) >= most) {
    open->fetch_sub(1);
    return nullptr;
  }
  return {open.get(), [counter = open](void*) { counter->fetch_sub(1); }};
}

namespace {

Answer submit_job(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"dryRun"}));
  auto dry = CO_TRY(parameters.flag("dryRun"));
  auto spec = CO_TRY(api.admitted(co_await request.body->read_all(kMaxBodyBytes)));
  if (dry) co_return co_await api.plan(std::move(spec));
  CO_TRY(co_await jobs::resolve(api.jobs, jobs::reach_of(spec)));  // whether an undo is possible
  if (!spec.trace) spec.trace = request.trace;
  co_return submitted(CO_TRY(co_await api.jobs.submit(std::move(spec))));
}

Answer submit_jobs(Api& api, http::Request& request, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBatchBytes));
  auto batch = CO_TRY(jobs::parse_job_batch(body));
  CO_TRY(api.admit(batch));
  std::vector<Result<jobs::Submission>> submissions;
  if (batch.group.empty()) {
    for (auto& spec : batch.specs) spec.trace = spec.trace ? spec.trace : request.trace;
    submissions = co_await api.jobs.submit_all(std::move(batch.specs));
  } else {
    submissions = CO_TRY(co_await api.jobs.submit_group(std::move(batch)));
  }
  auto results = nlohmann::json::array();
  for (const auto& submission : submissions) {
    if (submission) {
      results.push_back({{"status", submission->created ? 202 : 200}, {"job", to_json(submission->job)}});
    } else {
      results.push_back({{"status", http_status_of(submission.error().code)},
                         {"problem", problem_json(submission.error(), request.request_id)}});
    }
  }
  co_return json_response(200, {{"results", std::move(results)}});
}

Answer list_jobs(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"limit", "continuation", "kind", "state"}));
  const auto limit = CO_TRY(parameters.limit());
  auto kind = parameters.text("kind");
  auto state = parameters.text("state");
  const bool known_kind = kind.empty() || kind == "unknown" || jobs::is_kind(kind);
  if (!known_kind || (!state.empty() && !jobs::state_from_name(state))) {
    co_return fail(ErrorCode::kInvalidQueryParameterValue,
                   "kind must be a kind of job and state one of queued, running, succeeded, poisoned, "
                   "cancelled.");
  }
  const auto found =
      CO_TRY(co_await api.jobs.list(limit, parameters.text("continuation"), std::move(kind), std::move(state)));
  co_return page_response("jobs", found.jobs, found.continuation);
}

Answer show_job(Api& api, http::Request&, std::string id) {
  const auto job = CO_TRY(co_await api.jobs.find(std::move(id)));
  if (!job) co_return fail(ErrorCode::kJobNotFound);
  co_return json_response(200, to_json(*job));
}

Answer show_group(Api& api, http::Request&, std::string id) {
  if (!jobs::is_group_id(id)) co_return fail(ErrorCode::kNotFound);
  const auto status = CO_TRY(co_await api.groups.status(std::move(id)));
  if (!status) co_return fail(ErrorCode::kNotFound);
  co_return json_response(200, to_json(*status));
}

Answer cancel_job(Api& api, http::Request&, std::string id) {
  co_return json_response(200, to_json(CO_TRY(co_await api.jobs.cancel(std::move(id)))));
}

constexpr Duration kLook = std::chrono::milliseconds(200);
constexpr Duration kKeepAlive = std::chrono::seconds(10);
constexpr Duration kLongestStream = std::chrono::hours(1);

/// A job as server-sent events: event "job" with the job's JSON whenever its record has changed, and "end" after the
/// last. A comment every few seconds keeps the connection known to be alive. It ends after an hour, for whoever watches
/// that long to ask again.
class JobEvents final : public http::BodySource {
 public:
  JobEvents(jobs::JobStore& jobs, Clock& clock, std::string job_id, std::shared_ptr<const std::atomic<bool>> stopping,
            std::shared_ptr<void> slot, std::function<bool()> peer_gone)
      : jobs_(jobs),
        clock_(clock),
        job_id_(std::move(job_id)),
        stopping_(std::move(stopping)),
        slot_(std::move(slot)),
        peer_gone_(std::move(peer_gone)),
        begun_(clock.monotonic()) {}

  Task<Result<std::string>> next() override {
    auto said = clock_.monotonic();
    while (!ended_ && !stopping_->load() && clock_.monotonic() - begun_ < kLongestStream) {
      if (looked_) {
        co_await sleep_for(clock_, kLook);
        if (peer_gone_ && peer_gone_()) co_return std::string();
      }
      looked_ = true;
      auto found = co_await jobs_.find(job_id_);
      // A store that is away for a moment does not end the stream.
      if (found && !found->has_value()) co_return end("gone");
      if (found && (*found)->version != seen_) {
        seen_ = (*found)->version;
        auto text = "id: " + std::to_string(seen_) + "\nevent: job\ndata: " + json_text(to_json(**found)) + "\n\n";
        if (jobs::is_terminal((*found)->state)) text += end(std::string(jobs::state_name((*found)->state)));
        co_return text;
      }
      if (clock_.monotonic() - said >= kKeepAlive) co_return std::string(": still " + job_id_ + "\n\n");
    }
    co_return std::string();
  }

 private:
  std::string end(const std::string& state) {
    ended_ = true;
    return "event: end\ndata: " + json_text(nlohmann::json(state)) + "\n\n";
  }

  jobs::JobStore& jobs_;
  Clock& clock_;
  std::string job_id_;
  std::shared_ptr<const std::atomic<bool>> stopping_;
  std::shared_ptr<void> slot_;
  std::function<bool()> peer_gone_;
  Duration begun_;
  table_store::Version seen_ = 0;
  bool looked_ = false;
  bool ended_ = false;
};

Answer job_events(Api& api, http::Request& request, std::string id) {
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
  response.source =
      std::make_unique<JobEvents>(api.jobs, api.clock, std::move(id), api.stopping, std::move(slot), request.peer_gone);
  co_return response;
}

}  // namespace

std::span<const Route> job_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "v1/jobs", submit_job},          {"GET", "v1/jobs", list_jobs},
      {"POST", "v1/jobs/batch", submit_jobs},   {"GET", "v1/jobs/*", show_job},
      {"POST", "v1/jobs/*/cancel", cancel_job}, {"GET", "v1/jobs/*/events", job_events},
      {"GET", "v1/groups/*", show_group},
  };
  return kRoutes;
}

}  // namespace tidemark::api
