// A schedule: a job that is submitted at the times of a cron expression. Pure. schedule_plan.h decides on the next
// step, schedule_store.h stores schedules, and the workers' scheduler.h acts. The JSON (docs/jobs.md):
//   {"cron":"0 3 * * *","timeZone":"Europe/Berlin","job":{...},"catchUp":"last","overlap":"skip",
//    "maxLateSeconds":3600,"startAfter":"2026-01-31T22:00:00Z"}
// The job is a submission (job_spec.h) without idempotencyKey and notBefore; moments in its source, destination,
// filter, movedAfter and movedBefore, and in those of the jobs that follow it, are filled in at each due time
// (time_template.h).
#pragma once
#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

#include "jobs/schedules/cron.h"
#include "jobs/spec/job_spec.h"

namespace tidemark::jobs {

/// The handling of times that passed while no worker was running.
enum class CatchUp : std::uint8_t { kNone = 1, kLast = 2, kAll = 3 };
/// The handling of a due time at which the previous job has not ended.
enum class Overlap : std::uint8_t { kSkip = 1, kAllow = 2, kWait = 3, kCancel = 4 };

struct ScheduleSpec {
  std::string cron;
  std::string time_zone = "UTC";
  std::string job;  // JSON text, moments not filled in
  CatchUp catch_up = CatchUp::kLast;
  Overlap overlap = Overlap::kSkip;
  std::optional<Duration> max_late;  // a due time is missed if it is later than this; if absent, see CatchUp
  std::optional<Time> start_after;   // only later times count
  bool operator==(const ScheduleSpec&) const = default;
  static constexpr const char* kSchema = "ScheduleSpec";
  void members(SpecMembers& in);
};

/// The parsed cron expression and time zone of a schedule.
struct Timetable {
  static Result<Timetable> of(const ScheduleSpec& spec);
  /// Returns nothing if there is no time in 41 years, or none before the year 10000.
  [[nodiscard]] std::optional<Time> next(Time after) const;
  CronExpression cron;
  TimeZone zone;
};

/// The state of a schedule.
struct ScheduleState {
  /// A due time that a worker has claimed and whose job may not be submitted yet.
  struct Pending {
    Time due{};
    std::string job;  // as it will be submitted
    Time since{};
    std::string worker;
  };
  bool paused = false;
  Time decided{};  // everything due up to here is settled
  std::optional<Pending> pending;
  std::string last_job;  // id
  std::optional<Time> last_due;
  std::optional<Time> last_at;  // when that job was submitted
  std::string last_problem;     // of the last due time whose job could not be submitted
  std::uint64_t runs = 0;       // due times with a job
  std::uint64_t skipped = 0;    // because the previous job had not ended
  std::uint64_t missed = 0;     // too late for the catch-up rule
};

struct Schedule {
  std::string name;
  ScheduleSpec spec;
  ScheduleState state;
  Time created_at{};
  std::int64_t version = 0;  // of the row; 0 before it was stored
};

/// Checks for 1 to 63 letters, digits, '.', '_' and '-', beginning with a letter or digit.
bool is_schedule_name(std::string_view name);
/// kScheduleInvalid with every problem, those of the job too. `now`: the time of a declaration, which must have a due
/// time, and whose job must be valid if it were due now.
Result<ScheduleSpec> parse_schedule(std::string_view json_text, std::optional<Time> now = std::nullopt);
nlohmann::ordered_json to_json(const ScheduleSpec& spec);
std::string canonical_text(const ScheduleSpec& spec);
/// Changes with everything that a person sets: the definition, whether it is paused, and when it begins.
std::string etag_of(const Schedule& schedule);

/// Returns the job of a due time, with its moments filled in. Its idempotency key is the name and the due time.
Result<JobSpec> job_of(const ScheduleSpec& spec, std::string_view name, Time due);

}  // namespace tidemark::jobs
