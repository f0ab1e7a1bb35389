#include "jobs/schedules/schedule_store.h"

#include "common/base/text.h"
#include "jobs/store/fields.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Property;

constexpr const char* kPartition = "schedules";
constexpr const char* kChangesPartition = "schedule-changes";
constexpr std::size_t kMaxProblemBytes = 2000;

using Pending = ScheduleState::Pending;

constexpr std::tuple kStateFields{
    Field{"Decided", &ScheduleState::decided},  Field{"Paused", &ScheduleState::paused},
    Field{"LastJob", &ScheduleState::last_job}, Field{"LastProblem", &ScheduleState::last_problem},
    Field{"Runs", &ScheduleState::runs},        Field{"Skipped", &ScheduleState::skipped},
    Field{"Missed", &ScheduleState::missed},    Field{"LastDue", &ScheduleState::last_due},
    Field{"LastAt", &ScheduleState::last_at},
};
constexpr std::tuple kPendingFields{
    Field{"PendingDue", &Pending::due},
    Field{"PendingJob", &Pending::job},
    Field{"PendingSince", &Pending::since},
    Field{"PendingWorker", &Pending::worker},
};

std::vector<Property> properties_of(const Schedule& schedule) {
  auto state = schedule.state;
  state.last_problem = beginning_of(state.last_problem, kMaxProblemBytes);
  std::vector<Property> out{{"Definition", canonical_text(schedule.spec)}, {"CreatedAt", schedule.created_at}};
  add_properties(out, state, kStateFields);
  if (state.pending) add_properties(out, *state.pending, kPendingFields);
  return out;
}

Result<Schedule> schedule_of(const Entity& entity) {
  auto spec = parse_schedule(property_or<std::string>(entity, "Definition"));
  if (!spec || property<Time>(entity, "Decided") == nullptr) {
    return fail(ErrorCode::kCorruption, "The row of schedule " + entity.row_key + " does not have the expected form.");
  }
  Schedule out;
  out.name = entity.row_key;
  out.spec = std::move(*spec);
  out.created_at = property_or<Time>(entity, "CreatedAt");
  out.version = entity.version;
  read_properties(entity, out.state, kStateFields);
  if (property<Time>(entity, "PendingDue") != nullptr) {
    Pending pending{};
    read_properties(entity, pending, kPendingFields);
    out.state.pending = std::move(pending);
  }
  return out;
}

bool holds(const ScheduleCondition& condition, const Schedule* found) {
  if (condition.must_be_new && found != nullptr) return false;
  if (condition.etag.empty()) return true;
  return found != nullptr && (condition.etag == "*" || condition.etag == etag_of(*found));
}

std::unexpected<Error> refused(const ScheduleCondition& condition) {
  return fail(ErrorCode::kUpdateConditionNotSatisfied,
              condition.must_be_new ? "There is a schedule of this name already."
                                    : "The schedule is not the one that If-Match names: read it again.");
}

std::unexpected<Error> unknown(const std::string& name) {
  return fail(ErrorCode::kScheduleNotFound, "There is no schedule " + name + ".");
}

bool same_timetable(const ScheduleSpec& a, const ScheduleSpec& b) {
  return a.cron == b.cron && a.time_zone == b.time_zone && a.start_after == b.start_after;
}

}  // namespace

ScheduleStore::ScheduleStore(table_store::TableClient& tables, Clock& clock)
    : rows_(tables, kJobTable, kPartition), mark_(tables, kJobTable, kChangesPartition), clock_(clock) {}

Task<Result<std::optional<Schedule>>> ScheduleStore::find(std::string name) {
  const auto row = CO_TRY(co_await rows_.find(std::move(name)));
  if (!row) co_return std::nullopt;
  co_return CO_TRY(schedule_of(*row));
}

Task<Result<SchedulePage>> ScheduleStore::list(std::uint32_t limit, std::string continuation) {
  auto page = CO_TRY(co_await rows_.page(limit, std::move(continuation)));
  SchedulePage out;
  out.continuation = std::move(page.continuation);
  for (const auto& entity : page.entities) {
    // The table is open to every SDK; a foreign row must not hide the schedules.
    if (auto schedule = schedule_of(entity)) out.schedules.push_back(std::move(*schedule));
  }
  co_return out;
}

Task<Result<std::vector<Schedule>>> ScheduleStore::all() {
  std::vector<Schedule> out;
  for (const auto& row : CO_TRY(co_await rows_.all(2 * kMaxSchedules))) {
    if (auto schedule = schedule_of(row)) out.push_back(std::move(*schedule));
  }
  co_return out;
}

Task<Result<StoredSchedule>> ScheduleStore::put(std::string name, ScheduleSpec spec, ScheduleCondition condition) {
  const auto attempt = [&]() -> Task<Result<std::optional<StoredSchedule>>> {
    auto found = CO_TRY(co_await find(name));
    if (!holds(condition, found.has_value() ? &*found : nullptr)) co_return refused(condition);
    StoredSchedule out;
    out.created = !found.has_value();
    const auto now = clock_.now();
    if (out.created) {
      const auto page = CO_TRY(co_await list(kMaxSchedules, {}));
      if (page.schedules.size() >= kMaxSchedules) co_return fail(ErrorCode::kTooManySchedules);
      out.schedule.name = name;
      out.schedule.created_at = now;
    } else {
      out.schedule = std::move(*found);
    }
    if (out.created || !same_timetable(out.schedule.spec, spec)) {
      out.schedule.state.decided = std::min(spec.start_after.value_or(now), now);
    }
    out.schedule.spec = spec;
    if (!CO_TRY(co_await swap(out.schedule))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return out;
  };
  co_return co_await until_swapped<StoredSchedule>("Schedule " + name, attempt);
}

Task<Result<void>> ScheduleStore::remove(std::string name, ScheduleCondition condition) {
  const auto attempt = [&]() -> Task<Result<std::optional<Schedule>>> {
    auto found = CO_TRY(co_await find(name));
    if (!found.has_value()) co_return unknown(name);
    if (!holds(condition, &*found)) co_return refused(condition);
    if (!CO_TRY(co_await rows_.erase(name, found->version))) co_return std::nullopt;
    co_return std::move(*found);
  };
  CO_TRY(co_await until_swapped<Schedule>("Schedule " + name, attempt));
  co_return Result<void>{};
}

Task<Result<Schedule>> ScheduleStore::set_paused(std::string name, bool paused) {
  const auto attempt = [&]() -> Task<Result<std::optional<Schedule>>> {
    auto found = CO_TRY(co_await find(name));
    if (!found.has_value()) co_return unknown(name);
    auto schedule = std::move(*found);
    if (schedule.state.paused == paused) co_return schedule;
    schedule.state.paused = paused;
    if (!paused) schedule.state.decided = std::max(schedule.state.decided, clock_.now());
    if (!CO_TRY(co_await swap(schedule))) co_return std::nullopt;
    CO_TRY(co_await mark_.raise());
    co_return schedule;
  };
  co_return co_await until_swapped<Schedule>("Schedule " + name, attempt);
}

Task<Result<Submission>> ScheduleStore::run(JobStore& jobs, std::string name, Time due) {
  if (!table_store::can_hold(due))
    co_return fail(ErrorCode::kInvalidInput, "dueTime must be in the years 1601 to 9999.");
  auto found = CO_TRY(co_await find(name));
  if (!found.has_value()) co_return unknown(name);
  auto spec = CO_TRY(job_of(found->spec, name, due));
  auto submission = CO_TRY(co_await jobs.submit(std::move(spec)));
  // The job exists, even if the note in the schedule fails.
  if (submission.created) std::ignore = co_await note_run(std::move(*found), due, submission.job);
  co_return submission;
}

Task<Result<void>> ScheduleStore::note_run(Schedule seen, Time due, JobRecord job) {
  const auto name = seen.name;
  const auto attempt = [&]() -> Task<Result<std::optional<bool>>> {
    auto& state = seen.state;
    state.last_job = job.id;
    state.last_due = due;
    state.last_at = job.submitted_at;
    state.last_problem.clear();
    ++state.runs;
    if (CO_TRY(co_await swap(seen))) co_return true;
    auto found = CO_TRY(co_await find(name));
    if (!found.has_value()) co_return false;
    seen = std::move(*found);
    co_return std::nullopt;
  };
  CO_TRY(co_await until_swapped<bool>("Schedule " + name, attempt));
  co_return Result<void>{};
}

Task<Result<bool>> ScheduleStore::swap(Schedule& schedule) {
  return rows_.swap(schedule.name, schedule.version, properties_of(schedule));
}

Task<Result<table_store::Version>> ScheduleStore::changes() { return mark_.read(); }

}  // namespace tidemark::jobs
