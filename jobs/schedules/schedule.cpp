#include "jobs/schedules/schedule.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/json.h"
#include "jobs/spec/spec_members.h"
#include "jobs/spec/time_template.h"

namespace tidemark::jobs {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr std::size_t kMaxNameLength = 63;
constexpr std::int64_t kMaxLateSeconds = 366LL * 86'400;
constexpr Names<CatchUp, 3> kCatchUps{{{CatchUp::kNone, "none"}, {CatchUp::kLast, "last"}, {CatchUp::kAll, "all"}}};
constexpr Names<Overlap, 4> kOverlaps{
    {{Overlap::kSkip, "skip"}, {Overlap::kAllow, "allow"}, {Overlap::kWait, "wait"}, {Overlap::kCancel, "cancel"}}};
constexpr About kAboutCron{.meaning = "minute, hour, day of month, month and day of week; or @daily and the like"};
constexpr About kAboutZone{.meaning = "name in the tz database"};
constexpr About kAboutJob{
    .meaning = "a JobSpec without idempotencyKey and notBefore",
    .detail =
        "filter, movedAfter and movedBefore may hold moments such as {now-60d}; source and destination, also of the "
        "jobs that follow, such as {today-1d:yyyyMMdd}"};
constexpr About kAboutCatchUp{.meaning = "which of the times that passed while no worker ran get a job"};
constexpr About kAboutOverlap{.meaning = "what happens if the job before has not ended"};
constexpr About kAboutLate{.meaning = "a due time is missed if it is later than this"};
constexpr About kAboutStart{.meaning = "only later times count"};
/// Members of a job that may hold moments.
constexpr std::array kTemplates{"source", "destination", "filter", "movedAfter", "movedBefore"};
constexpr auto kAnyTime = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);

/// Returns the job with its moments filled in, as JSON. A job that is nested too deep is refused later.
Result<json> filled(json job, Time due, TimeZone zone) {
  for (const auto* name : kTemplates) {
    const auto member = job.find(name);
    if (member == job.end() || !member->is_string()) continue;
    auto text = fill_time_template(member->get_ref<const std::string&>(), due, zone);
    if (!text) return fail(ErrorCode::kScheduleInvalid, std::string(name) + ": " + text.error().message);
    *member = std::move(*text);
  }
  const auto then = job.find("then");
  if (then == job.end() || !then->is_object()) return job;
  auto next = filled(*then, due, zone);
  if (!next) return fail(ErrorCode::kScheduleInvalid, "then: " + next.error().message);
  *then = std::move(*next);
  return job;
}

/// Finds mistakes that only some due times reveal, such as a table's name that is not always valid.
void check_job_of_now(SpecMembers& in, const ScheduleSpec& spec, Time now) {
  const auto job = job_of(spec, "any", now);
  if (job) return;
  const auto at = "job, if it were due now: ";
  for (const auto& [name, problem] : job.error().fields) in.problem(at + problem);
  if (job.error().fields.empty()) in.problem(at + job.error().message);
}

void check_is_due(SpecMembers& in, const ScheduleSpec& spec, Time now) {
  const auto timetable = Timetable::of(spec);
  if (!timetable || timetable->next(std::max(now, spec.start_after.value_or(now)))) return;
  in.problem(spec.start_after ? "cron: no time after startAfter matches it" : "cron: no date matches it");
}

/// Reads the job as it would be at a due time, to find its problems.
void job_member(SpecMembers& in, std::string& text, const std::string& time_zone) {
  if (in.describes()) return in.describe("job", {{"type", "object"}}, kAboutJob, true);
  if (in.writes()) return in.put("job", ordered_json::parse(text, nullptr, false));
  const auto zone = TimeZone::find(time_zone);
  if (!zone) in.problem("timeZone: " + zone.error().message);
  const auto* job = in.object("job");
  if (job == nullptr) return in.problem(in.has("job") ? "job must be an object" : "job is missing");
  for (const auto* name : {"idempotencyKey", "notBefore"}) {
    if (job->contains(name)) in.problem(std::string("job: ") + name + " is given by the schedule");
  }
  auto sample = filled(*job, kAnyTime, zone ? *zone : *TimeZone::find("UTC"));
  if (!sample) return in.problem("job: " + sample.error().message);
  if (const auto spec = job_spec_from_json(*sample); !spec) {
    for (const auto& [name, problem] : spec.error().fields) in.problem("job: " + problem);
  }
  text = job->dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMaxSpecBytes) in.problem("job: it is longer than 30000 bytes");
}

}  // namespace

bool is_schedule_name(std::string_view name) {
  return is_simple_name(name, kMaxNameLength) && is_alphanumeric(name.front());
}

Result<Timetable> Timetable::of(const ScheduleSpec& spec) {
  auto cron = TRY(CronExpression::parse(spec.cron));
  auto zone = TRY(TimeZone::find(spec.time_zone));
  return Timetable{cron, zone};
}

Result<ScheduleSpec> parse_schedule(std::string_view json_text, std::optional<Time> now) {
  constexpr std::string_view kWhat = "The schedule is not valid: ";
  const auto parsed = json_text.size() > 2 * kMaxSpecBytes ? json() : json_or_discarded(json_text);
  if (!parsed.is_object()) return invalid(ErrorCode::kScheduleInvalid, kWhat, {"it must be a JSON object"});
  TRY(TimeZone::find("UTC"));  // fails on a machine without a time zone database
  SpecMembers in(parsed);
  ScheduleSpec spec;
  spec.members(in);
  in.refuse_unknown();
  if (in.problems().empty() && now) check_is_due(in, spec, *now);
  if (in.problems().empty() && now) check_job_of_now(in, spec, *now);
  if (!in.problems().empty()) return invalid(ErrorCode::kScheduleInvalid, kWhat, in.problems());
  return spec;
}

void ScheduleSpec::members(SpecMembers& in) {
  if (in.text("cron", cron, true, kAboutCron)) {
    const auto parsed = CronExpression::parse(cron);
    if (!parsed) in.problem(parsed.error().message);
  }
  in.text("timeZone", time_zone, kAboutZone);
  job_member(in, job, time_zone);
  in.choice("catchUp", kCatchUps, catch_up, kAboutCatchUp);
  in.choice("overlap", kOverlaps, overlap, kAboutOverlap);
  if (catch_up == CatchUp::kAll && (overlap == Overlap::kSkip || overlap == Overlap::kCancel)) {
    in.problem("catchUp all needs overlap allow or wait: with skip and cancel only one of many would run");
  }
  std::optional<std::int64_t> late;
  if (max_late) late = std::chrono::duration_cast<std::chrono::seconds>(*max_late).count();
  if (in.number("maxLateSeconds", late, 1, kMaxLateSeconds, kAboutLate)) max_late = std::chrono::seconds(*late);
  in.time("startAfter", start_after, kAboutStart);
}

std::optional<Time> Timetable::next(Time after) const {
  const auto due = cron.next(after, zone);
  return due && table_store::can_hold(*due) ? due : std::nullopt;
}

ordered_json to_json(const ScheduleSpec& spec) { return members_json(spec); }

std::string canonical_text(const ScheduleSpec& spec) {
  return to_json(spec).dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string etag_of(const Schedule& schedule) {
  constexpr std::size_t kDigits = 32;
  const auto text = schedule.name + "\n" + to_iso8601_7digits(schedule.created_at) + "\n" +
                    (schedule.state.paused ? "paused\n" : "\n") + canonical_text(schedule.spec);
  return "\"" + hex_encode(sha256(text)).substr(0, kDigits) + "\"";
}

Result<JobSpec> job_of(const ScheduleSpec& spec, std::string_view name, Time due) {
  auto zone = TRY(TimeZone::find(spec.time_zone));
  auto job = TRY(filled(json::parse(spec.job, nullptr, false), due, zone));
  auto out = job_spec_from_json(job);
  if (out) out->idempotency_key = "schedule:" + std::string(name) + ":" + to_iso8601(due);
  return out;
}

}  // namespace tidemark::jobs
