#include "workers/upkeep/scheduler.h"

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using jobs::Schedule;
using jobs::ScheduleDecision;
using jobs::ScheduleState;
using jobs::ScheduleStep;

/// A change that was not announced is seen after this time.
constexpr Duration kLookAnyway = std::chrono::seconds(60);
/// Steps of one schedule in a pass, so that the others get their turn.
constexpr int kStepsAtOnce = 2 * static_cast<int>(jobs::kMostCaughtUp);

std::optional<Time> earlier(std::optional<Time> a, std::optional<Time> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

/// Tells whether trying again later gives the same result.
bool is_final(ErrorCode code) {
  const auto status = http_status_of(code);
  return status >= 400 && status < 500 && code != ErrorCode::kTableNotFound && code != ErrorCode::kQueueNotFound;
}

}  // namespace

Task<Result<std::optional<Time>>> Scheduler::look() {
  const auto now = clock_.now();
  const auto changes = CO_TRY(co_await schedules_.changes());
  // A clock that was set back makes every plan doubtful.
  const bool stale = !looked_ || changes != seen_changes_ || now < *looked_ || now - *looked_ >= kLookAnyway;
  if (!stale && (!next_ || now < *next_)) co_return next_;
  auto next = CO_TRY(co_await pass());
  seen_changes_ = changes;
  looked_ = now;
  next_ = next;
  co_return next_;
}

Task<Result<std::optional<Time>>> Scheduler::pass() {
  auto all = CO_TRY(co_await schedules_.all());
  std::optional<Time> next;
  std::optional<Error> failed;
  for (auto& schedule : all) {
    auto until = co_await carry(std::move(schedule));
    if (until) {
      next = earlier(next, *until);
    } else {
      failed = std::move(until.error());  // the others must not wait for it
    }
  }
  if (failed) co_return fail(std::move(*failed));
  co_return next;
}

Task<Result<std::optional<Time>>> Scheduler::carry(Schedule schedule) {
  for (int step = 0; step < kStepsAtOnce; ++step) {
    const auto timetable = jobs::Timetable::of(schedule.spec);
    if (!timetable) co_return std::optional<Time>();  // this machine does not know the time zone
    const auto now = clock_.now();
    bool runs = false;
    if (asks_for_last_job(*timetable, schedule, now)) {
      runs = CO_TRY(co_await last_job_runs(schedule.state.last_job));
    }
    auto decision = decide(*timetable, schedule, now, options_.hold, runs);
    if (decision.step == ScheduleStep::kSleep) co_return decision.at;
    if (decision.step == ScheduleStep::kRun && runs && schedule.spec.overlap == jobs::Overlap::kCancel) {
      const auto cancelled = co_await jobs_.cancel(schedule.state.last_job);
      if (!cancelled && cancelled.error().code != ErrorCode::kJobNotFound) co_return fail(cancelled.error());
    }
    const auto taken = CO_TRY(co_await take(schedule, decision));
    if (taken) continue;
    auto found = CO_TRY(co_await schedules_.find(schedule.name));
    if (!found.has_value()) co_return std::optional<Time>();
    schedule = std::move(*found);
  }
  co_return clock_.now();
}

Task<Result<bool>> Scheduler::take(Schedule& schedule, ScheduleDecision decision) {
  auto& state = schedule.state;
  state.missed += decision.missed;
  switch (decision.step) {
    case ScheduleStep::kSleep:
      co_return true;
    case ScheduleStep::kRewind:
    case ScheduleStep::kPass:
      state.decided = *decision.at;
      break;
    case ScheduleStep::kSkip:
      state.decided = *decision.at;
      ++state.skipped;
      break;
    case ScheduleStep::kRun: {
      co_return co_await claim(schedule, *decision.at);
    }
    case ScheduleStep::kResume: {
      state.pending->since = clock_.now();
      state.pending->worker = options_.worker_name;
      const auto swapped = co_await schedules_.swap(schedule);
      if (!swapped || !*swapped) co_return swapped;
      co_return co_await submit(schedule);
    }
  }
  co_return co_await schedules_.swap(schedule);
}

Task<Result<bool>> Scheduler::claim(Schedule& schedule, Time due) {
  auto& state = schedule.state;
  state.decided = due;
  const auto job = job_of(schedule.spec, schedule.name, due);
  if (!job) {
    state.last_due = due;
    state.last_problem = job.error().message;
    co_return co_await schedules_.swap(schedule);
  }
  state.pending = ScheduleState::Pending{due, canonical_text(*job), clock_.now(), options_.worker_name};
  const auto swapped = co_await fail_points::kScheduleClaim.around(schedules_.swap(schedule));
  if (!swapped || !*swapped) co_return swapped;
  co_return co_await submit(schedule);
}

Task<Result<bool>> Scheduler::submit(Schedule& schedule) {
  auto pending = *schedule.state.pending;
  const auto spec = jobs::parse_stored_spec(pending.job);
  if (!spec) {
    co_return co_await note(schedule, std::move(pending), {}, spec.error().message);
  }
  // A worker that slept past its claim leaves the due time to the worker that has taken it over.
  if (clock_.now() - pending.since >= options_.hold) co_return false;
  const auto submission = co_await fail_points::kScheduleSubmit.around(jobs_.submit(*spec));
  if (!submission && !is_final(submission.error().code)) co_return fail(submission.error());
  co_return co_await note(schedule, std::move(pending), submission ? submission->job.id : std::string(),
                          submission ? std::string() : submission.error().message);
}

Task<Result<bool>> Scheduler::note(Schedule& schedule, ScheduleState::Pending done, std::string job_id,
                                   std::string problem) {
  while (schedule.state.pending && schedule.state.pending->due == done.due && schedule.state.pending->job == done.job) {
    auto& state = schedule.state;
    state.pending.reset();
    state.last_due = done.due;
    state.last_at = clock_.now();
    state.last_problem = problem;
    if (!job_id.empty()) {
      state.last_job = job_id;
      ++state.runs;
    }
    const auto swapped = CO_TRY(co_await fail_points::kScheduleNote.around(schedules_.swap(schedule)));
    if (swapped) co_return true;
    auto found = CO_TRY(co_await schedules_.find(schedule.name));
    if (!found.has_value()) co_return false;
    schedule = std::move(*found);
  }
  co_return false;
}

Task<Result<bool>> Scheduler::last_job_runs(std::string id) {
  const auto record = CO_TRY(co_await jobs_.find(std::move(id)));
  co_return record.has_value() && !is_terminal(record->state);
}

}  // namespace tidemark::workers
