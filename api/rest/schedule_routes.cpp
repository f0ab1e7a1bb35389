#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "jobs/schedules/schedule_plan.h"

namespace tidemark::api {
namespace {

Result<jobs::ScheduleCondition> condition_of(const http::Request& request) {
  jobs::ScheduleCondition condition;
  condition.etag = std::string(request.header("if-match").value_or(""));
  const auto none = request.header("if-none-match");
  if (none && *none != "*") return fail(ErrorCode::kInvalidInput, "If-None-Match can only be *.");
  condition.must_be_new = none.has_value();
  return condition;
}

/// Of {"dueTime":T} or nothing.
Result<Time> due_time_of(const std::string& body, Time now) {
  if (body.empty()) return now;
  const auto parsed = nlohmann::json::parse(body, nullptr, false);
  const bool good = parsed.is_object() && parsed.size() <= parsed.count("dueTime") &&
                    (parsed.empty() || parsed["dueTime"].is_string());
  if (!good) return fail(ErrorCode::kInvalidInput, "The body must be empty or {\"dueTime\":\"2026-01-31T22:00:00Z\"}.");
  if (parsed.empty()) return now;
  const auto due = parse_iso8601(parsed["dueTime"].get_ref<const std::string&>());
  if (!due) return fail(ErrorCode::kInvalidInput, "dueTime must be a time such as 2026-01-31T22:00:00Z.");
  return *due;
}

}  // namespace

Task<Result<nlohmann::json>> ApiRoutes::show(jobs::Schedule schedule) {
  std::optional<jobs::JobRecord> last;
  if (!schedule.state.last_job.empty()) {
    last = CO_TRY(co_await jobs_.find(schedule.state.last_job));
  }
  co_return to_json(schedule, last ? &*last : nullptr, clock_.now());
}

Task<http::Response> ApiRoutes::answer_schedule(http::Request& request, unsigned status, jobs::Schedule schedule) {
  const auto etag = etag_of(schedule);
  const auto shown = co_await show(std::move(schedule));
  if (!shown) co_return problem(shown.error(), request.request_id);
  auto response = json_response(status, *shown);
  response.set("ETag", etag);
  co_return response;
}

Task<http::Response> ApiRoutes::put_schedule(http::Request& request, std::string name) {
  if (!jobs::is_schedule_name(name)) {
    const auto error = make_error(ErrorCode::kInvalidInput,
                                  "A schedule's name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit "
                                  "first.");
    co_return problem(error, request.request_id);
  }
  auto condition = condition_of(request);
  if (!condition) co_return problem(condition.error(), request.request_id);
  const auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  auto spec = jobs::parse_schedule(*body);
  if (!spec) co_return problem(spec.error(), request.request_id);
  if (const auto job = jobs::job_of(*spec, name, clock_.now()); job) {
    if (auto admitted = admit(*job); !admitted) co_return problem(admitted.error(), request.request_id);
  }
  auto stored = co_await schedules_.put(std::move(name), std::move(*spec), std::move(*condition));
  if (!stored) co_return problem(stored.error(), request.request_id);
  co_return co_await answer_schedule(request, stored->created ? 201 : 200, std::move(stored->schedule));
}

Task<http::Response> ApiRoutes::list_schedules(http::Request& request, std::string) {
  auto parameters = Parameters::read(request, {"limit", "continuation"});
  if (!parameters) co_return problem(parameters.error(), request.request_id);
  const auto limit = parameters->limit();
  if (!limit) co_return problem(limit.error(), request.request_id);
  auto page = co_await schedules_.list(*limit, parameters->text("continuation"));
  if (!page) co_return problem(page.error(), request.request_id);
  nlohmann::json body{{"schedules", nlohmann::json::array()}};
  for (auto& schedule : page->schedules) {
    auto shown = co_await show(std::move(schedule));
    if (!shown) co_return problem(shown.error(), request.request_id);
    body["schedules"].push_back(std::move(*shown));
  }
  if (!page->continuation.empty()) body["continuation"] = page->continuation;
  co_return json_response(200, body);
}

Task<http::Response> ApiRoutes::show_schedule(http::Request& request, std::string name) {
  auto found = co_await schedules_.find(std::move(name));
  if (!found) co_return problem(found.error(), request.request_id);
  if (!*found) co_return problem(make_error(ErrorCode::kScheduleNotFound), request.request_id);
  co_return co_await answer_schedule(request, 200, std::move(**found));
}

Task<http::Response> ApiRoutes::remove_schedule(http::Request& request, std::string name) {
  auto condition = condition_of(request);
  if (!condition) co_return problem(condition.error(), request.request_id);
  const auto removed = co_await schedules_.remove(std::move(name), std::move(*condition));
  if (!removed) co_return problem(removed.error(), request.request_id);
  http::Response response;
  response.status = 204;
  co_return response;
}

Task<http::Response> ApiRoutes::pause_schedule(http::Request& request, std::string name) {
  co_return co_await set_schedule(request, std::move(name), true);
}

Task<http::Response> ApiRoutes::resume_schedule(http::Request& request, std::string name) {
  co_return co_await set_schedule(request, std::move(name), false);
}

Task<http::Response> ApiRoutes::set_schedule(http::Request& request, std::string name, bool paused) {
  auto schedule = co_await schedules_.set_paused(std::move(name), paused);
  if (!schedule) co_return problem(schedule.error(), request.request_id);
  co_return co_await answer_schedule(request, 200, std::move(*schedule));
}

Task<http::Response> ApiRoutes::run_schedule(http::Request& request, std::string name) {
  const auto body = co_await request.body->read_all(kMaxBodyBytes);
  if (!body) co_return problem(body.error(), request.request_id);
  const auto due = due_time_of(*body, clock_.now());
  if (!due) co_return problem(due.error(), request.request_id);
  const auto submission = co_await schedules_.run(jobs_, std::move(name), *due);
  if (!submission) co_return problem(submission.error(), request.request_id);
  auto response = json_response(submission->created ? 202 : 200, to_json(submission->job));
  response.set("Location", "/v1/jobs/" + submission->job.id);
  co_return response;
}

}  // namespace tidemark::api
