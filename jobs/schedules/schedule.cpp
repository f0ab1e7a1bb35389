#include "jobs/schedules/schedule.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "jobs/spec/spec_reader.h"
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
/// Members of a job that may hold moments.
constexpr std::array kTemplates{"filter", "movedAfter", "movedBefore"};
constexpr auto kAnyTime = std::chrono::sys_days(std::chrono::year(2000) / 1 / 1);

/// The job with its moments filled in, as JSON.
Result<json> filled(json job, Time due, TimeZone zone) {
  for (const auto* name : kTemplates) {
    const auto member = job.find(name);
    if (member == job.end() || !member->is_string()) continue;
    auto text = fill_time_template(member->get_ref<const std::string&>(), due, zone);
    if (!text) return fail(ErrorCode::kScheduleInvalid, std::string(name) + ": " + text.error().message);
    *member = std::move(*text);
  }
  return job;
}

/// Reads the job as it would be at some due time, for its problems.
std::string read_job(SpecReader& in, TimeZone zone) {
  const auto* job = in.object("job", true);
  if (job == nullptr) return {};
  for (const auto* name : {"idempotencyKey", "notBefore"}) {
    if (job->contains(name)) in.problem(std::string("job: ") + name + " is given by the schedule");
  }
  auto sample = filled(*job, kAnyTime, zone);
  if (!sample) {
    in.problem("job: " + sample.error().message);
    return {};
  }
  if (const auto spec = job_spec_from_json(*sample); !spec) {
    for (const auto& [name, text] : spec.error().fields) in.problem("job: " + text);
  }
  auto text = job->dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kMaxSpecBytes) in.problem("job: it is longer than 30000 bytes");
  return text;
}

}  // namespace

std::string_view catch_up_name(CatchUp catch_up) { return name_in(kCatchUps, catch_up); }
std::string_view overlap_name(Overlap overlap) { return name_in(kOverlaps, overlap); }

bool is_schedule_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kMaxNameLength && plain(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

Result<Timetable> Timetable::of(const ScheduleSpec& spec) {
  auto cron = TRY(CronExpression::parse(spec.cron));
  auto zone = TRY(TimeZone::find(spec.time_zone));
  return Timetable{cron, zone};
}

Result<ScheduleSpec> parse_schedule(std::string_view json_text) {
  constexpr std::string_view kWhat = "The schedule is not valid: ";
  const auto parsed = json_text.size() > 2 * kMaxSpecBytes ? json() : json::parse(json_text, nullptr, false);
  if (!parsed.is_object()) return invalid(ErrorCode::kScheduleInvalid, kWhat, {"it must be a JSON object"});
  SpecReader in(parsed);
  ScheduleSpec spec;
  spec.cron = in.text("cron", true).value_or("");
  if (in.has("cron") && in.problems().empty()) {
    auto cron = CronExpression::parse(spec.cron);
    if (!cron) in.problem(cron.error().message);
  }
  spec.time_zone = in.text("timeZone", false).value_or("UTC");
  auto zone = TimeZone::find(spec.time_zone);
  if (!zone) {
    in.problem("timeZone: " + zone.error().message);
    zone = TimeZone::find("UTC");
    if (!zone) return fail(std::move(zone.error()));  // a machine without a time zone database
  }
  spec.job = read_job(in, *zone);
  spec.catch_up = in.choice("catchUp", kCatchUps, CatchUp::kLast);
  spec.overlap = in.choice("overlap", kOverlaps, Overlap::kSkip);
  if (spec.catch_up == CatchUp::kAll && (spec.overlap == Overlap::kSkip || spec.overlap == Overlap::kCancel)) {
    in.problem("catchUp all needs overlap allow or wait: with skip and cancel only one of many would run");
  }
  if (auto late = in.integer("maxLateSeconds", 1, kMaxLateSeconds)) spec.max_late = std::chrono::seconds(*late);
  spec.start_after = in.time("startAfter");
  in.refuse_unknown();
  if (!in.problems().empty()) return invalid(ErrorCode::kScheduleInvalid, kWhat, in.problems());
  return spec;
}

ordered_json to_json(const ScheduleSpec& spec) {
  ordered_json out{{"cron", spec.cron}, {"timeZone", spec.time_zone}};
  out["job"] = ordered_json::parse(spec.job, nullptr, false);
  out["catchUp"] = catch_up_name(spec.catch_up);
  out["overlap"] = overlap_name(spec.overlap);
  if (spec.max_late) out["maxLateSeconds"] = std::chrono::duration_cast<std::chrono::seconds>(*spec.max_late).count();
  if (spec.start_after) out["startAfter"] = to_iso8601(*spec.start_after);
  return out;
}

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
