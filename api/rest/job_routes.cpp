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
    const auto admitted = url ? options_.callbacks.admit(*url) : Result<void>(fail(url.error()));
    if (!admitted) problems.push_back(at + admitted.error().message);
  };
  if (const auto url = jobs::reach_of(spec).url; !url.empty()) look_at(url, "url: ");
  if (spec.on_end) look_at(spec.on_end->url, "onEnd: ");
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Result<void> ApiRoutes::admit(const jobs::JobBatch& batch) const {
  std::vector<std::string> problems;
  for (std::size_t i = 0; i < batch.specs.size(); ++i) {
    const auto admitted = admit(batch.specs[i]);
    if (admitted) continue;
    for (const auto& [name, text] : admitted.error().fields) {
      problems.push_back("jobs[" + std::to_string(i) + "]: " + text);
    }
  }
  jobs::JobSpec whole;
  whole.on_end = batch.on_end;
  if (const auto admitted = admit(whole); !admitted) problems.push_back(admitted.error().fields.front().second);
  if (!problems.empty()) return jobs::invalid_job(problems);
  return {};
}

Task<http::Response> ApiRoutes::submit_job(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"dryRun"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  auto dry = parameters->flag("dryRun");
  if (!dry) co_return problem(dry.error(), request.request_id);
  const auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  auto spec = jobs::parse_job_spec(*body);
  if (!spec) co_return problem(spec.error(), request.request_id);
  if (auto admitted = admit(*spec); !admitted) co_return problem(admitted.error(), request.request_id);
  if (*dry) {
    co_return co_await plan(request, std::move(*spec));
  }
  if (const auto possible = co_await jobs::resolve(jobs_, jobs::reach_of(*spec)); !possible) {
    co_return problem(possible.error(), request.request_id);
  }
  const auto submission = co_await jobs_.submit(std::move(*spec));
  if (!submission) co_return problem(submission.error(), request.request_id);
  auto response = json_response(submission->created ? 202 : 200, to_json(submission->job));
  response.set("Location", "/v1/jobs/" + submission->job.id);
  co_return response;
}

Task<http::Response> ApiRoutes::plan(http::Request& request, jobs::JobSpec spec) {
  const auto planned = co_await jobs::plan_job({jobs_, poison_, tables_, objects_}, std::move(spec));
  if (!planned) co_return problem(planned.error(), request.request_id);
  co_return json_response(200, to_json(*planned));
}

Task<http::Response> ApiRoutes::submit_jobs(http::Request& request, std::string) {
  const auto body = co_await request.body->read_all(kMaxBatchBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  auto batch = jobs::parse_job_batch(*body);
  if (!batch) co_return problem(batch.error(), request.request_id);
  if (auto admitted = admit(*batch); !admitted) co_return problem(admitted.error(), request.request_id);
  std::vector<Result<jobs::Submission>> submissions;
  if (batch->group.empty()) {
    submissions = co_await jobs_.submit_all(std::move(batch->specs));
  } else {
    auto submitted = co_await jobs_.submit_group(std::move(*batch));
    if (!submitted) co_return problem(submitted.error(), request.request_id);
    submissions = std::move(*submitted);
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

Task<http::Response> ApiRoutes::list_jobs(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"limit", "continuation", "kind", "state"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  auto kind = parameters->text("kind");
  auto state = parameters->text("state");
  const bool known_kind = kind.empty() || kind == "unknown" || jobs::is_kind(kind);
  if (!known_kind || (!state.empty() && !jobs::state_from_name(state))) {
    const auto error = make_error(ErrorCode::kInvalidQueryParameterValue,
                                  "kind must be a kind of job and state one of queued, running, succeeded, poisoned, "
                                  "cancelled.");
    co_return problem(error, request.request_id);
  }
  const auto found = co_await jobs_.list(*limit, parameters->text("continuation"), std::move(kind), std::move(state));
  if (!found) co_return problem(found.error(), request.request_id);
  co_return page_response("jobs", found->jobs, found->continuation);
}

Task<http::Response> ApiRoutes::show_job(http::Request& request, std::string id) {
  const auto job = co_await jobs_.find(std::move(id));
  if (!job) co_return problem(job.error(), request.request_id);
  if (!*job) co_return problem(make_error(ErrorCode::kJobNotFound), request.request_id);
  co_return json_response(200, to_json(**job));
}

Task<http::Response> ApiRoutes::show_group(http::Request& request, std::string id) {
  if (!jobs::is_group_id(id)) co_return problem(make_error(ErrorCode::kNotFound), request.request_id);
  const auto status = co_await groups_.status(std::move(id));
  if (!status) co_return problem(status.error(), request.request_id);
  if (!*status) co_return problem(make_error(ErrorCode::kNotFound), request.request_id);
  co_return json_response(200, to_json(**status));
}

Task<http::Response> ApiRoutes::cancel_job(http::Request& request, std::string id) {
  const auto job = co_await jobs_.cancel(std::move(id));
  if (!job) co_return problem(job.error(), request.request_id);
  co_return json_response(200, to_json(*job));
}

Task<http::Response> ApiRoutes::job_events(http::Request& request, std::string id) {
  const auto job = co_await jobs_.find(id);
  if (!job) co_return problem(job.error(), request.request_id);
  if (!*job) co_return problem(make_error(ErrorCode::kJobNotFound), request.request_id);
  http::Response response;
  response.set("Content-Type", "text/event-stream");
  response.set("Cache-Control", "no-store");
  response.source = make_job_events(jobs_, clock_, std::move(id), stopping_);
  co_return response;
}

}  // namespace tidemark::api
