#include "jobs/schedules/schedule_plan.h"

#include <algorithm>
#include <deque>

namespace tidemark::jobs {
namespace {

/// Times longer ago than this are not counted any more.
constexpr Duration kCounted = std::chrono::hours(24 * 366);

Time beginning(const Schedule& schedule) {
  return std::max(schedule.state.decided, schedule.spec.start_after.value_or(Time::min()));
}

struct DueTimes {
  std::deque<Time> newest;  // at most kMostCaughtUp
  std::uint64_t older = 0;
};

DueTimes due_times(const Timetable& timetable, Time after, Time now) {
  // A schedule of every minute that slept for years has millions; the last time of every 29 February is long ago.
  if (now - after > kCounted) {
    const auto recent = timetable.next(now - kCounted);
    if (recent && *recent <= now) after = now - kCounted;
  }
  DueTimes out;
  for (auto due = timetable.next(after); due && *due <= now; due = timetable.next(*due)) {
    out.newest.push_back(*due);
    if (out.newest.size() <= kMostCaughtUp) continue;
    out.newest.pop_front();
    ++out.older;
  }
  return out;
}

std::optional<Duration> tolerance(const ScheduleSpec& spec) {
  if (spec.max_late) return spec.max_late;
  if (spec.catch_up == CatchUp::kNone) return kOnTime;
  return std::nullopt;
}

}  // namespace

bool asks_for_last_job(const Timetable& timetable, const Schedule& schedule, Time now) {
  const auto& state = schedule.state;
  if (schedule.spec.overlap == Overlap::kAllow || state.last_job.empty() || state.paused || state.pending) return false;
  const auto first = timetable.next(beginning(schedule));
  return first && *first <= now;
}

ScheduleDecision decide(const Timetable& timetable, const Schedule& schedule, Time now, Duration hold,
                        bool last_job_runs, Duration again) {
  const auto& state = schedule.state;
  if (state.pending) {
    const auto until = state.pending->since + hold;
    if (now >= until || now + hold < state.pending->since) return {ScheduleStep::kResume, state.pending->due};
    return {ScheduleStep::kSleep, until};
  }
  if (state.paused) return {};
  if (state.decided - now > kTrustedJump) return {ScheduleStep::kRewind, now};
  const auto first = timetable.next(beginning(schedule));
  if (!first || *first > now) return {ScheduleStep::kSleep, first};

  auto due = due_times(timetable, beginning(schedule), now);
  ScheduleDecision out;
  out.missed = due.older;
  const auto last = due.newest.back();
  const auto late = tolerance(schedule.spec);
  const bool one = schedule.spec.catch_up != CatchUp::kAll;
  while (!due.newest.empty() && ((one && due.newest.size() > 1) || (late && now - due.newest.front() > *late))) {
    due.newest.pop_front();
    ++out.missed;
  }
  if (due.newest.empty()) {
    out.step = ScheduleStep::kPass;
    out.at = last;
    return out;
  }
  out.at = due.newest.front();
  out.step = ScheduleStep::kRun;
  if (last_job_runs && schedule.spec.overlap == Overlap::kSkip) out.step = ScheduleStep::kSkip;
  if (last_job_runs && schedule.spec.overlap == Overlap::kWait) return {ScheduleStep::kSleep, now + again};
  return out;
}

std::optional<Time> next_run(const Timetable& timetable, const Schedule& schedule, Time now) {
  if (schedule.state.paused) return std::nullopt;
  const bool rewind = schedule.state.decided - now > kTrustedJump;
  return timetable.next(
      std::max(rewind ? now : schedule.state.decided, schedule.spec.start_after.value_or(Time::min())));
}

}  // namespace tidemark::jobs
