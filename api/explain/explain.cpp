#include "api/explain/explain.h"

#include <algorithm>
#include <array>

#include "api/explain/entity_places.h"
#include "jobs/schedules/schedule_plan.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMostRecords = 2000;  // of each state
constexpr std::array kStates{JobState::kQueued, JobState::kRunning, JobState::kPoisoned, JobState::kSucceeded,
                             JobState::kCancelled};
constexpr int kMostDueTimes = 400;        // of one schedule
constexpr int kMostEvaluations = 20'000;  // of all schedules

struct KnownJob {
  JobRecord record;
  JobSpec spec;
};

/// One question under way; lives in explain()'s frame.
class Explainer {
 public:
  Explainer(JobStore& store, ScheduleStore& schedules, table_store::TableClient& tables, ObjectAccess access,
            Clock& clock)
      : store_(store), schedules_(schedules), clock_(clock), places_(store, tables, std::move(access)) {}

  Task<Result<Explanation>> run(std::string table, EntityKey key) {
    for (const auto state : kStates) {
      CO_TRY(co_await read_jobs(state));
    }
    auto schedules = CO_TRY(co_await schedules_.all());
    out_.looked_at_schedules = schedules.size();
    for (const auto& job : jobs_) places_.connect(reach_of(job.spec));
    for (const auto& schedule : schedules) {
      if (const auto spec = jobs::job_of(schedule.spec, schedule.name, clock_.now())) places_.connect(reach_of(*spec));
    }
    CO_TRY(co_await places_.search(std::move(table), std::move(key)));
    for (auto& job : jobs_) {
      CO_TRY(co_await judge(std::move(job)));
    }
    for (const auto& schedule : schedules) foresee(schedule);
    out_.complete = out_.complete && places_.complete();
    out_.places = places_.take();
    co_return std::move(out_);
  }

 private:
  Task<Result<void>> read_jobs(JobState state) {
    std::size_t read = 0;
    std::string continuation;
    do {
      auto page = CO_TRY(co_await store_.list(1000, std::move(continuation), {}, std::string(state_name(state))));
      for (auto& record : page.jobs) {
        auto spec = parse_stored_spec(record.spec);
        if (spec) jobs_.push_back({std::move(record), std::move(*spec)});
        ++read;
      }
      continuation = std::move(page.continuation);
    } while (!continuation.empty() && read < kMostRecords);
    if (!continuation.empty()) out_.complete = false;
    out_.looked_at_jobs += read;
    co_return Result<void>{};
  }

  Task<Result<void>> judge(KnownJob job) {
    EntityJob out;
    const auto reach = seen_from(store_.account(), reach_of(job.spec));
    out.from = reach.from;
    bool takes = places_.selected_by(reach);
    const bool ended = is_terminal(job.record.state);
    if (!reach.undoes.empty() && !ended) {
      if (auto back = co_await resolve(store_, reach)) {
        out.from = std::move(back->from);
        takes = places_.written_by(back->operation, out.from);
      }
    }
    const bool names = places_.named_by(reach);
    if (ended && job.record.state != JobState::kPoisoned) {
      if (!names) co_return Result<void>{};
      out.relation = Relation::kNamed;
    } else if (takes || names) {
      out.relation = ended ? Relation::kGaveUp : Relation::kWouldTake;
    } else {
      co_return Result<void>{};
    }
    out.record = std::move(job.record);
    out_.jobs.push_back(std::move(out));
    co_return Result<void>{};
  }

  void foresee(const Schedule& schedule) {
    const auto timetable = Timetable::of(schedule.spec);
    if (!timetable) return;
    auto due = next_run(*timetable, schedule, clock_.now());
    std::string text;
    for (int i = 0; due && i < kMostDueTimes; ++i, due = timetable->next(*due)) {
      if (++evaluations_ > kMostEvaluations) {
        out_.complete = false;
        return;
      }
      auto spec = jobs::job_of(schedule.spec, schedule.name, *due);
      if (!spec) return;
      const auto reach = seen_from(store_.account(), reach_of(*spec));
      if (!places_.present_at(reach.from)) return;
      if (places_.selected_by(reach)) {
        out_.schedules.push_back({schedule.name, std::string(kind_name(*spec)), reach.from, *due});
        return;
      }
      // A filter without moments says the same every time.
      spec->idempotency_key.clear();
      auto again = canonical_text(*spec);
      if (again == text) return;
      text = std::move(again);
    }
  }

  JobStore& store_;
  ScheduleStore& schedules_;
  Clock& clock_;
  EntityPlaces places_;
  Explanation out_;
  std::vector<KnownJob> jobs_;
  int evaluations_ = 0;
};

}  // namespace

Task<Result<Explanation>> explain(JobStore& store, ScheduleStore& schedules, table_store::TableClient& tables,
                                  ObjectAccess access, Clock& clock, std::string table, EntityKey key) {
  Explainer explainer(store, schedules, tables, std::move(access), clock);
  auto out = co_await explainer.run(std::move(table), std::move(key));
  if (out) {
    std::stable_sort(out->jobs.begin(), out->jobs.end(),
                     [](const EntityJob& a, const EntityJob& b) { return a.relation < b.relation; });
  }
  co_return out;
}

}  // namespace tidemark::jobs
