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
  if (!schedule.state.last_job.empty()) last = CO_TRY(co_await jobs_.find(schedule.state.last_job));
  co_return to_json(schedule, last ? &*last : nullptr, clock_.now());
}

Task<Result<http::Response>> ApiRoutes::answer_schedule(unsigned status, jobs::Schedule schedule) {
  const auto etag = etag_of(schedule);
  auto response = json_response(status, CO_TRY(co_await show(std::move(schedule))));
  response.set("ETag", etag);
  co_return response;
}

Task<Result<http::Response>> ApiRoutes::put_schedule(http::Request& request, std::string name) {
  if (!jobs::is_schedule_name(name)) {
    co_return fail(ErrorCode::kInvalidInput,
                   "A schedule's name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.");
  }
  auto condition = CO_TRY(condition_of(request));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  auto spec = CO_TRY(jobs::parse_schedule(body));
  if (const auto job = jobs::job_of(spec, name, clock_.now())) CO_TRY(admit(*job));
  auto stored = CO_TRY(co_await schedules_.put(std::move(name), std::move(spec), std::move(condition)));
  co_return co_await answer_schedule(stored.created ? 201 : 200, std::move(stored.schedule));
}

Task<Result<http::Response>> ApiRoutes::list_schedules(http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request, {"limit", "continuation"}));
  const auto limit = CO_TRY(parameters.limit());
  auto page = CO_TRY(co_await schedules_.list(limit, parameters.text("continuation")));
  nlohmann::json body{{"schedules", nlohmann::json::array()}};
  for (auto& schedule : page.schedules) {
    body["schedules"].push_back(CO_TRY(co_await show(std::move(schedule))));
  }
  if (!page.continuation.empty()) body["continuation"] = page.continuation;
  co_return json_response(200, body);
}

Task<Result<http::Response>> ApiRoutes::show_schedule(http::Request&, std::string name) {
  auto found = CO_TRY(co_await schedules_.find(std::move(name)));
  if (!found) co_return fail(ErrorCode::kScheduleNotFound);
  co_return co_await answer_schedule(200, std::move(*found));
}

Task<Result<http::Response>> ApiRoutes::remove_schedule(http::Request& request, std::string name) {
  auto condition = CO_TRY(condition_of(request));
  CO_TRY(co_await schedules_.remove(std::move(name), std::move(condition)));
  co_return no_content();
}

Task<Result<http::Response>> ApiRoutes::pause_schedule(http::Request&, std::string name) {
  co_return co_await set_schedule(std::move(name), true);
}

Task<Result<http::Response>> ApiRoutes::resume_schedule(http::Request&, std::string name) {
  co_return co_await set_schedule(std::move(name), false);
}

Task<Result<http::Response>> ApiRoutes::set_schedule(std::string name, bool paused) {
  auto schedule = CO_TRY(co_await schedules_.set_paused(std::move(name), paused));
  co_return co_await answer_schedule(200, std::move(schedule));
}

Task<Result<http::Response>> ApiRoutes::run_schedule(http::Request& request, std::string name) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto due = CO_TRY(due_time_of(body, clock_.now()));
  co_return submitted(CO_TRY(co_await schedules_.run(jobs_, std::move(name), due)));
}

}  // namespace tidemark::api
