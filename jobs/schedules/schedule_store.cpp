#include "jobs/schedules/schedule_store.h"

#include "common/base/text.h"
#include "jobs/store/fields.h"
#include "jobs/store/rows.h"
#include "table_store/model/limits.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::Property;

constexpr const char* kPartition = "schedules";
constexpr const char* kChangesPartition = "schedule-changes";
constexpr const char* kChangesRow = "last";
constexpr int kMaxRaces = 16;
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

std::unexpected<Error> contended(const std::string& name) {
  return fail(ErrorCode::kServerBusy, "Schedule " + name + " is being changed by others. Please retry.");
}

std::unexpected<Error> unknown(const std::string& name) {
  return fail(ErrorCode::kScheduleNotFound, "There is no schedule " + name + ".");
}

bool same_timetable(const ScheduleSpec& a, const ScheduleSpec& b) {
  return a.cron == b.cron && a.time_zone == b.time_zone && a.start_after == b.start_after;
}

}  // namespace

Task<Result<std::optional<Schedule>>> ScheduleStore::find(std::string name) {
  auto entity = CO_TRY(co_await tables_.get(std::string(kJobTable), kPartition, std::move(name)));
  if (!entity) co_return std::nullopt;
  co_return CO_TRY(schedule_of(*entity));
}

Task<Result<SchedulePage>> ScheduleStore::list(std::uint32_t limit, std::string continuation) {
  auto request = rows_of(kPartition);
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.continuation = std::move(continuation);
  auto page = CO_TRY(co_await tables_.query(std::move(request)));
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
  std::string continuation;
  do {
    auto page = CO_TRY(co_await list(1000, std::move(continuation)));
    for (auto& schedule : page.schedules) out.push_back(std::move(schedule));
    continuation = std::move(page.continuation);
  } while (!continuation.empty() && out.size() < 2 * kMaxSchedules);
  co_return out;
}

Task<Result<StoredSchedule>> ScheduleStore::put(std::string name, ScheduleSpec spec, ScheduleCondition condition) {
  for (int race = 0; race < kMaxRaces; ++race) {
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
    if (!CO_TRY(co_await swap(out.schedule))) continue;
    CO_TRY(co_await tell());
    co_return out;
  }
  co_return contended(name);
}

Task<Result<void>> ScheduleStore::remove(std::string name, ScheduleCondition condition) {
  for (int race = 0; race < kMaxRaces; ++race) {
    const auto found = CO_TRY(co_await find(name));
    if (!found.has_value()) co_return unknown(name);
    if (!holds(condition, &*found)) co_return refused(condition);
    const auto erased = CO_TRY(co_await change_row(tables_, kPartition, erasure_of(name, found->version)));
    if (erased.has_value()) co_return Result<void>{};
  }
  co_return contended(name);
}

Task<Result<Schedule>> ScheduleStore::set_paused(std::string name, bool paused) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto found = CO_TRY(co_await find(name));
    if (!found.has_value()) co_return unknown(name);
    auto schedule = std::move(*found);
    if (schedule.state.paused == paused) co_return schedule;
    schedule.state.paused = paused;
    if (!paused) schedule.state.decided = std::max(schedule.state.decided, clock_.now());
    if (!CO_TRY(co_await swap(schedule))) continue;
    CO_TRY(co_await tell());
    co_return schedule;
  }
  co_return contended(name);
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
  for (int race = 0; race < kMaxRaces; ++race) {
    auto& state = seen.state;
    state.last_job = job.id;
    state.last_due = due;
    state.last_at = job.submitted_at;
    state.last_problem.clear();
    ++state.runs;
    if (CO_TRY(co_await swap(seen))) co_return Result<void>{};
    auto found = CO_TRY(co_await find(seen.name));
    if (!found.has_value()) co_return Result<void>{};
    seen = std::move(*found);
  }
  co_return contended(seen.name);
}

Task<Result<bool>> ScheduleStore::swap(Schedule& schedule) {
  const auto seen = schedule.version == 0 ? std::nullopt : std::optional(schedule.version);
  const auto written =
      CO_TRY(co_await change_row(tables_, kPartition, write_of(schedule.name, seen, properties_of(schedule))));
  if (written.has_value()) schedule.version = *written;
  co_return written.has_value();
}

Task<Result<table_store::Version>> ScheduleStore::changes() {
  const auto row = CO_TRY(co_await tables_.get(std::string(kJobTable), kChangesPartition, kChangesRow));
  co_return row.has_value() ? row->version : 0;
}

Task<Result<void>> ScheduleStore::tell() {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = kChangesRow;
  CO_TRY(co_await change_row(tables_, kChangesPartition, std::move(mutation)));
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
