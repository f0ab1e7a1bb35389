#include "api/rest/api_routes.h"
#include "api/rest/job_events.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "jobs/kinds/reach.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/spec_reader.h"

namespace tidemark::api {

Result<void> ApiRoutes::admit(const jobs::JobSpec& spec) const {
  std::vector<std::string> problems;
  const auto look_at = [&](const std::string& text, const std::string& at) {
    const auto url = jobs::parse_callback_url(text);
    const auto outcome = url ? options_.callbacks.admit(*url) : Result<void>(fail(url.error()));
    if (!outcome) problems.push_back(at + outcome.error().message);
  };
  if (const auto url = jobs::reach_of(spec).url; !url.empty()) look_at(url, "url: ");
  if (spec.on_end) look_at(spec.on_end->url, "onEnd: ");
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Result<void> ApiRoutes::admit(const jobs::JobBatch& batch) const {
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

Result<jobs::JobSpec> ApiRoutes::admitted(const Result<std::string>& body) const {
  auto spec = TRY(jobs::parse_job_spec(TRY(body)));
  TRY(admit(spec));
  return spec;
}

Task<Result<http::Response>> ApiRoutes::submit_job(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"dryRun"}));
  auto dry = CO_TRY(parameters.flag("dryRun"));
  auto spec = CO_TRY(admitted(co_await request.body->read_all(kMaxBodyBytes)));
  if (dry) co_return co_await plan(std::move(spec));
  CO_TRY(co_await jobs::resolve(jobs_, jobs::reach_of(spec)));  // whether an undo is possible
  co_return submitted(CO_TRY(co_await jobs_.submit(std::move(spec))));
}

Task<Result<http::Response>> ApiRoutes::plan(jobs::JobSpec spec) {
  co_return json_response(
      200, to_json(CO_TRY(co_await jobs::plan_job({jobs_, poison_, tables_, objects_}, std::move(spec)))));
}

Task<Result<http::Response>> ApiRoutes::submit_jobs(http::Request& request, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBatchBytes));
  auto batch = CO_TRY(jobs::parse_job_batch(body));
  CO_TRY(admit(batch));
  std::vector<Result<jobs::Submission>> submissions;
  if (batch.group.empty()) {
    submissions = co_await jobs_.submit_all(std::move(batch.specs));
  } else {
    submissions = CO_TRY(co_await jobs_.submit_group(std::move(batch)));
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

Task<Result<http::Response>> ApiRoutes::list_jobs(http::Request& request, std::string) {
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
      CO_TRY(co_await jobs_.list(limit, parameters.text("continuation"), std::move(kind), std::move(state)));
  co_return page_response("jobs", found.jobs, found.continuation);
}

Task<Result<http::Response>> ApiRoutes::show_job(http::Request&, std::string id) {
  const auto job = CO_TRY(co_await jobs_.find(std::move(id)));
  if (!job) co_return fail(ErrorCode::kJobNotFound);
  co_return json_response(200, to_json(*job));
}

Task<Result<http::Response>> ApiRoutes::show_group(http::Request&, std::string id) {
  if (!jobs::is_group_id(id)) co_return fail(ErrorCode::kNotFound);
  const auto status = CO_TRY(co_await groups_.status(std::move(id)));
  if (!status) co_return fail(ErrorCode::kNotFound);
  co_return json_response(200, to_json(*status));
}

Task<Result<http::Response>> ApiRoutes::cancel_job(http::Request&, std::string id) {
  co_return json_response(200, to_json(CO_TRY(co_await jobs_.cancel(std::move(id)))));
}

Task<Result<http::Response>> ApiRoutes::job_events(http::Request&, std::string id) {
  const auto job = CO_TRY(co_await jobs_.find(id));
  if (!job) co_return fail(ErrorCode::kJobNotFound);
  http::Response response;
  response.set("Content-Type", "text/event-stream");
  response.set("Cache-Control", "no-store");
  response.source = make_job_events(jobs_, clock_, std::move(id), stopping_);
  co_return response;
}

}  // namespace tidemark::api
