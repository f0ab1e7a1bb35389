#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "jobs/schedules/schedule_plan.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

struct LastRun {
  Time due;
  std::optional<Time> submitted_at;
  std::string job;
  std::optional<jobs::JobState> job_state;
  std::string problem;
  void members(jobs::SpecMembers& to) const {
    to.shows("dueTime", due);
    to.shows("submittedAt", submitted_at);
    to.shows_unless_empty("job", job);
    to.shows("jobState", jobs::kJobStates, job_state);
    to.shows_unless_empty("problem", problem);
  }
};

struct ShownSchedule {
  jobs::Schedule schedule;
  std::optional<Time> next_run;
  std::optional<LastRun> last_run;
  static constexpr const char* kSchema = "Schedule";
  void members(jobs::SpecMembers& to) {
    const auto& state = schedule.state;
    to.shows("name", schedule.name);
    schedule.spec.members(to);
    to.shows("paused", state.paused);
    to.shows("createdAt", schedule.created_at);
    to.shows("runs", state.runs, {.meaning = "due times that have a job"});
    to.shows("skipped", state.skipped, {.meaning = "due times left out because of the job before"});
    to.shows("missed", state.missed, {.meaning = "due times that passed too long ago for catchUp and maxLateSeconds"});
    to.shows("nextRun", next_run);
    to.shows("lastRun", last_run);
  }
};

/// `last`: the record of its last job, if that exists.
ShownSchedule shown(jobs::Schedule schedule, const std::optional<jobs::JobRecord>& last, Time now) {
  ShownSchedule out{std::move(schedule), {}, {}};
  const auto& state = out.schedule.state;
  if (const auto timetable = jobs::Timetable::of(out.schedule.spec)) {
    out.next_run = next_run(*timetable, out.schedule, now);
  }
  if (!state.last_due) return out;
  auto& run = out.last_run.emplace(*state.last_due, state.last_at, std::string(), std::nullopt, state.last_problem);
  if (!run.problem.empty()) return out;
  run.job = state.last_job;
  if (last) run.job_state = last->state;
  return out;
}

Result<jobs::ScheduleCondition> condition_of(const http::Request& request) {
  jobs::ScheduleCondition condition;
  condition.etag = std::string(request.header("if-match").value_or(""));
  const auto none = request.header("if-none-match");
  if (none && *none != "*") return fail(ErrorCode::kInvalidInput, "If-None-Match can only be *.");
  condition.must_be_new = none.has_value();
  return condition;
}

struct ScheduleRun {
  std::optional<Time> due;
  static constexpr const char* kSchema = "ScheduleRun";
  void members(jobs::SpecMembers& in) {
    in.time("dueTime", due, {.meaning = "time for which the job is submitted; now if absent"});
  }
};

Task<Result<nlohmann::json>> show(Api& api, jobs::Schedule schedule) {
  std::optional<jobs::JobRecord> last;
  if (!schedule.state.last_job.empty()) last = CO_TRY(co_await api.jobs.find(schedule.state.last_job));
  co_return json_of(shown(std::move(schedule), last, api.clock.now()));
}

Answer answer_schedule(Api& api, unsigned status, jobs::Schedule schedule) {
  const auto etag = etag_of(schedule);
  auto response = json_response(status, CO_TRY(co_await show(api, std::move(schedule))));
  response.set("ETag", etag);
  co_return response;
}

Answer put_schedule(Api& api, http::Request& request, Action& action, std::string name) {
  if (!jobs::is_schedule_name(name)) {
    co_return fail(ErrorCode::kInvalidInput,
                   "A schedule's name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.");
  }
  auto condition = CO_TRY(condition_of(request));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto now = api.clock.now();
  auto spec = CO_TRY(jobs::parse_schedule(body, now));
  const auto job = CO_TRY(jobs::job_of(spec, name, now));
  CO_TRY(api.admit(job, action.caller));
  CO_TRY(co_await api.check_kinds(job));
  auto stored = CO_TRY(co_await api.schedules.put(std::move(name), std::move(spec), std::move(condition)));
  co_return co_await answer_schedule(api, stored.created ? 201 : 200, std::move(stored.schedule));
}

Answer list_schedules(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  auto page = CO_TRY(co_await api.schedules.list(limit, parameters.text("continuation")));
  nlohmann::json body{{"schedules", nlohmann::json::array()}};
  for (auto& schedule : page.schedules) {
    body["schedules"].push_back(CO_TRY(co_await show(api, std::move(schedule))));
  }
  if (!page.continuation.empty()) body["continuation"] = page.continuation;
  co_return json_response(200, body);
}

Answer show_schedule(Api& api, http::Request&, std::string name) {
  auto found = CO_TRY(co_await api.schedules.find(std::move(name)));
  if (!found) co_return fail(ErrorCode::kScheduleNotFound);
  co_return co_await answer_schedule(api, 200, std::move(*found));
}

Answer remove_schedule(Api& api, http::Request& request, std::string name) {
  auto condition = CO_TRY(condition_of(request));
  CO_TRY(co_await api.schedules.remove(std::move(name), std::move(condition)));
  co_return no_content();
}

template <bool paused>
Answer set_schedule(Api& api, http::Request&, std::string name) {
  auto schedule = CO_TRY(co_await api.schedules.set_paused(std::move(name), paused));
  co_return co_await answer_schedule(api, 200, std::move(schedule));
}

Answer run_schedule(Api& api, http::Request& request, Action& action, std::string name) {
  const auto now = api.clock.now();
  const auto due = CO_TRY(co_await read_members<ScheduleRun>(request)).due.value_or(now);
  const auto found = CO_TRY(co_await api.schedules.find(name));
  if (found) CO_TRY(Api::may_run(CO_TRY(jobs::job_of(found->spec, name, now)), action.caller));
  co_return submitted(CO_TRY(co_await api.schedules.run(api.jobs, std::move(name), due)));
}

struct DueTimes {
  std::vector<Time> due;
  static constexpr const char* kSchema = "DueTimes";
  void members(jobs::SpecMembers& to) const { to.shows("dueTimes", due); }
};

/// Tells the next due times of a cron expression, whether a schedule has it or not.
Answer show_due_times(Api& api, http::Request& request, std::string) {
  constexpr std::int64_t kFew = 5, kMost = 100;
  auto parameters = CO_TRY(Parameters::read(request));
  jobs::ScheduleSpec spec;
  spec.cron = parameters.text("cron");
  if (parameters.has("timeZone")) spec.time_zone = parameters.text("timeZone");
  const auto count = CO_TRY(parameters.number("count", 1, kMost)).value_or(kFew);
  auto after = api.clock.now();
  if (const auto start = parameters.text("startAfter"); !start.empty()) {
    const auto time = parse_iso8601(start);
    if (!time) {
      co_return fail(ErrorCode::kInvalidQueryParameterValue, "startAfter must be a time such as 2026-01-31T22:00:00Z.");
    }
    after = std::max(after, *time);
  }
  const auto timetable = CO_TRY(jobs::Timetable::of(spec));
  DueTimes out;
  for (auto due = timetable.next(after); due && static_cast<std::int64_t>(out.due.size()) < count;) {
    out.due.push_back(*due);
    due = timetable.next(*due);
  }
  co_return json_response(200, json_of(out));
}

}  // namespace

std::span<const Route> schedule_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/schedules", Role::kViewer, list_schedules},
      {"GET", "v1/dueTimes", Role::kViewer, show_due_times},
      {"GET", "v1/schedules/*", Role::kViewer, show_schedule},
      {"PUT", "v1/schedules/*", Role::kOperator, put_schedule},
      {"DELETE", "v1/schedules/*", Role::kOperator, remove_schedule},
      {"POST", "v1/schedules/*/pause", Role::kOperator, set_schedule<true>},
      {"POST", "v1/schedules/*/resume", Role::kOperator, set_schedule<false>},
      {"POST", "v1/schedules/*/run", Role::kOperator, run_schedule},
  };
  return kRoutes;
}

nlohmann::ordered_json schedule_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<jobs::ScheduleSpec, ScheduleRun>(out);
  jobs::add_answers<ShownSchedule, DueTimes>(out);
  return out;
}

}  // namespace tidemark::api
