// Decides on the next step of a schedule at a given time. Pure: the caller makes each step durable with a
// compare-and-swap of the row and asks again, so that only one of several workers takes the step.
//
// Every due time after `decided` is settled exactly once, in order: it gets its job (kRun), is left out because of the
// previous job (kSkip), or is missed (counted by the step that passes it). If the clock is set back, settled times stay
// settled, so nothing runs twice. If it is set back by more than a day, it must have been wrong before: the schedule
// starts over from the present (kRewind), and the idempotency key of the job (name and due time) prevents repetitions.
#pragma once
#include "jobs/schedules/schedule.h"

namespace tidemark::jobs {

/// The largest number of due times that are caught up, the newest ones.
inline constexpr std::size_t kMostCaughtUp = 100;
/// With catchUp none and without maxLateSeconds, a time that is later than this is missed.
inline constexpr Duration kOnTime = std::chrono::seconds(60);
inline constexpr Duration kTrustedJump = std::chrono::hours(24);

enum class ScheduleStep : std::uint8_t {
  kSleep = 1,   // until `at`; for ever if there is none
  kRun = 2,     // claim the due time `at` and submit its job
  kResume = 3,  // submit the job of the claim whose worker is gone
  kSkip = 4,    // the due time `at` is left out
  kPass = 5,    // everything up to `at` is missed
  kRewind = 6,  // the clock was wrong: `decided` becomes `at`
};

struct ScheduleDecision {
  ScheduleStep step = ScheduleStep::kSleep;
  std::optional<Time> at;
  std::uint64_t missed = 0;
};

/// Returns true if decide() needs to know whether the last job still runs.
bool asks_for_last_job(const Timetable& timetable, const Schedule& schedule, Time now);
/// `hold` is how long a claim is left to its worker, `again` the time after which a running job is checked again.
ScheduleDecision decide(const Timetable& timetable, const Schedule& schedule, Time now, Duration hold,
                        bool last_job_runs, Duration again = std::chrono::seconds(2));
/// Returns when the schedule is due next, for people; nothing while it is paused.
std::optional<Time> next_run(const Timetable& timetable, const Schedule& schedule, Time now);

}  // namespace tidemark::jobs
