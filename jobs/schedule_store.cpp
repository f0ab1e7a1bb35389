#include "jobs/schedule_store.h"

#include "jobs/rows.h"

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

template <class T>
std::optional<T> value_of(const Entity& entity, std::string_view name) {
  const auto* found = property<T>(entity, name);
  return found == nullptr ? std::nullopt : std::optional<T>(*found);
}

std::string text_of(const Entity& entity, std::string_view name) { return property_or<std::string>(entity, name); }

std::uint64_t count_of(const Entity& entity, std::string_view name) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(property_or<std::int64_t>(entity, name), 0));
}

std::vector<Property> properties_of(const Schedule& schedule) {
  const auto& state = schedule.state;
  std::vector<Property> out{{"Definition", canonical_text(schedule.spec)},
                            {"CreatedAt", schedule.created_at},
                            {"Decided", state.decided},
                            {"Paused", state.paused},
                            {"LastJob", state.last_job},
                            {"LastProblem", state.last_problem.substr(0, kMaxProblemBytes)},
                            {"Runs", static_cast<std::int64_t>(state.runs)},
                            {"Skipped", static_cast<std::int64_t>(state.skipped)},
                            {"Missed", static_cast<std::int64_t>(state.missed)}};
  if (state.last_due) out.push_back({"LastDue", *state.last_due});
  if (state.last_at) out.push_back({"LastAt", *state.last_at});
  if (state.pending) {
    out.push_back({"PendingDue", state.pending->due});
    out.push_back({"PendingJob", state.pending->job});
    out.push_back({"PendingSince", state.pending->since});
    out.push_back({"PendingWorker", state.pending->worker});
  }
  return out;
}

Result<Schedule> schedule_of(const Entity& entity) {
  auto spec = parse_schedule(text_of(entity, "Definition"));
  const auto decided = value_of<Time>(entity, "Decided");
  if (!spec || !decided) {
    return fail(ErrorCode::kCorruption, "The row of schedule " + entity.row_key + " does not have the expected form.");
  }
  Schedule out;
  out.name = entity.row_key;
  out.spec = std::move(*spec);
  out.created_at = property_or<Time>(entity, "CreatedAt");
  out.version = entity.version;
  auto& state = out.state;
  state.decided = *decided;
  state.paused = property_or<bool>(entity, "Paused");
  state.last_job = text_of(entity, "LastJob");
  state.last_problem = text_of(entity, "LastProblem");
  state.last_due = value_of<Time>(entity, "LastDue");
  state.last_at = value_of<Time>(entity, "LastAt");
  state.runs = count_of(entity, "Runs");
  state.skipped = count_of(entity, "Skipped");
  state.missed = count_of(entity, "Missed");
  if (const auto due = value_of<Time>(entity, "PendingDue")) {
    state.pending = ScheduleState::Pending{*due, text_of(entity, "PendingJob"),
                                           property_or<Time>(entity, "PendingSince"), text_of(entity, "PendingWorker")};
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
  auto task = tables_.get(std::string(kJobTable), kPartition, std::move(name));
  auto entity = co_await std::move(task);
  if (!entity) co_return fail(std::move(entity.error()));
  if (!entity->has_value()) co_return std::optional<Schedule>();
  auto schedule = schedule_of(**entity);
  if (!schedule) co_return fail(std::move(schedule.error()));
  co_return std::optional<Schedule>(std::move(*schedule));
}

Task<Result<SchedulePage>> ScheduleStore::list(std::uint32_t limit, std::string continuation) {
  table_store::QueryRequest request;
  request.table = std::string(kJobTable);
  request.filter = "PartitionKey eq '" + std::string(kPartition) + "'";
  request.top = std::clamp<std::uint32_t>(limit, 1, 1000);
  request.continuation = std::move(continuation);
  auto task = tables_.query(std::move(request));
  auto page = co_await std::move(task);
  if (!page) co_return fail(std::move(page.error()));
  SchedulePage out;
  out.continuation = std::move(page->continuation);
  for (const auto& entity : page->entities) {
    // The table is open to every SDK; a row that somebody else put there must not hide the schedules.
    if (auto schedule = schedule_of(entity)) out.schedules.push_back(std::move(*schedule));
  }
  co_return out;
}

Task<Result<std::vector<Schedule>>> ScheduleStore::all() {
  std::vector<Schedule> out;
  std::string continuation;
  do {
    auto task = list(1000, std::move(continuation));
    auto page = co_await std::move(task);
    if (!page) co_return fail(std::move(page.error()));
    for (auto& schedule : page->schedules) out.push_back(std::move(schedule));
    continuation = std::move(page->continuation);
  } while (!continuation.empty() && out.size() < 2 * kMaxSchedules);
  co_return out;
}

Task<Result<StoredSchedule>> ScheduleStore::put(std::string name, ScheduleSpec spec, ScheduleCondition condition) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto find_task = find(name);
    auto found = co_await std::move(find_task);
    if (!found) co_return fail(std::move(found.error()));
    if (!holds(condition, found->has_value() ? &**found : nullptr)) co_return refused(condition);
    StoredSchedule out;
    out.created = !found->has_value();
    const auto now = clock_.now();
    if (out.created) {
      auto counting = list(kMaxSchedules, {});
      const auto page = co_await std::move(counting);
      if (!page) co_return fail(page.error());
      if (page->schedules.size() >= kMaxSchedules) co_return fail(ErrorCode::kTooManySchedules);
      out.schedule.name = name;
      out.schedule.created_at = now;
    } else {
      out.schedule = std::move(**found);
    }
    if (out.created || !same_timetable(out.schedule.spec, spec)) {
      out.schedule.state.decided = std::min(spec.start_after.value_or(now), now);
    }
    out.schedule.spec = spec;
    auto write_task = write(out.schedule, out.created ? MutationKind::kInsert : MutationKind::kReplace);
    const auto written = co_await std::move(write_task);
    if (!written) co_return fail(written.error());
    if (!*written) continue;
    auto tell_task = tell();
    const auto told = co_await std::move(tell_task);
    if (!told) co_return fail(told.error());
    co_return out;
  }
  co_return contended(name);
}

Task<Result<void>> ScheduleStore::remove(std::string name, ScheduleCondition condition) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto find_task = find(name);
    const auto found = co_await std::move(find_task);
    if (!found) co_return fail(found.error());
    if (!found->has_value()) co_return unknown(name);
    if (!holds(condition, &**found)) co_return refused(condition);
    auto task = change_row(tables_, kPartition, erasure_of(name, (*found)->version));
    const auto erased = co_await std::move(task);
    if (!erased) co_return fail(erased.error());
    if (erased->has_value()) co_return Result<void>{};
  }
  co_return contended(name);
}

Task<Result<Schedule>> ScheduleStore::set_paused(std::string name, bool paused) {
  for (int race = 0; race < kMaxRaces; ++race) {
    auto find_task = find(name);
    auto found = co_await std::move(find_task);
    if (!found) co_return fail(std::move(found.error()));
    if (!found->has_value()) co_return unknown(name);
    auto schedule = std::move(**found);
    if (schedule.state.paused == paused) co_return schedule;
    schedule.state.paused = paused;
    if (!paused) schedule.state.decided = std::max(schedule.state.decided, clock_.now());
    auto swapping = swap(schedule);
    const auto swapped = co_await std::move(swapping);
    if (!swapped) co_return fail(swapped.error());
    if (!*swapped) continue;
    auto tell_task = tell();
    const auto told = co_await std::move(tell_task);
    if (!told) co_return fail(told.error());
    co_return schedule;
  }
  co_return contended(name);
}

Task<Result<Submission>> ScheduleStore::run(JobStore& jobs, std::string name, Time due) {
  auto find_task = find(name);
  auto found = co_await std::move(find_task);
  if (!found) co_return fail(std::move(found.error()));
  if (!found->has_value()) co_return unknown(name);
  auto spec = job_of((*found)->spec, name, due);
  if (!spec) co_return fail(std::move(spec.error()));
  auto submitting = jobs.submit(std::move(*spec));
  auto submission = co_await std::move(submitting);
  if (!submission) co_return fail(std::move(submission.error()));
  for (int race = 0; race < kMaxRaces && found->has_value() && submission->created; ++race) {
    auto& state = (*found)->state;
    state.last_job = submission->job.id;
    state.last_due = due;
    state.last_at = submission->job.submitted_at;
    state.last_problem.clear();
    ++state.runs;
    auto swapping = swap(**found);
    const auto swapped = co_await std::move(swapping);
    if (!swapped) co_return fail(swapped.error());
    if (*swapped) break;
    auto again = find(name);
    found = co_await std::move(again);
    if (!found) co_return fail(std::move(found.error()));
  }
  co_return submission;
}

Task<Result<bool>> ScheduleStore::swap(Schedule& schedule) {
  auto task = write(schedule, MutationKind::kReplace);
  co_return co_await std::move(task);
}

Task<Result<bool>> ScheduleStore::write(Schedule& schedule, MutationKind kind) {
  const auto seen = kind == MutationKind::kReplace ? std::optional(schedule.version) : std::nullopt;
  auto task = change_row(tables_, kPartition, write_of(schedule.name, seen, properties_of(schedule)));
  const auto written = co_await std::move(task);
  if (!written) co_return fail(written.error());
  if (written->has_value()) schedule.version = **written;
  co_return written->has_value();
}

Task<Result<table_store::Version>> ScheduleStore::changes() {
  auto task = tables_.get(std::string(kJobTable), kChangesPartition, kChangesRow);
  const auto row = co_await std::move(task);
  if (!row) co_return fail(row.error());
  co_return row->has_value() ? (*row)->version : 0;
}

Task<Result<void>> ScheduleStore::tell() {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = kChangesRow;
  auto task = change_row(tables_, kChangesPartition, std::move(mutation));
  const auto written = co_await std::move(task);
  if (!written) co_return fail(written.error());
  co_return Result<void>{};
}

}  // namespace tidemark::jobs
