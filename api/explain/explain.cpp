#include "api/explain/explain.h"

#include <algorithm>
#include <set>

#include "api/explain/entity_places.h"
#include "common/base/encoding.h"
#include "jobs/schedules/schedule_plan.h"

namespace tidemark::jobs {
namespace {

constexpr std::size_t kMostRecords = 2000;  // the newest
constexpr std::uint32_t kPage = 500;
constexpr std::uint32_t kMostWaiting = 500;  // from each queue
constexpr std::uint32_t kMostPoison = 500;   // from those that read the table, and from those that read the others
constexpr std::size_t kMostTables = 4;       // beside the requested one
constexpr int kMostDueTimes = 400;           // for one schedule
constexpr int kMostEvaluations = 20'000;     // for all schedules

struct KnownJob {
  std::string id;
  Reach reach;
  bool over = false;                // as far as is known without its record
  std::optional<JobRecord> record;  // for a job that was found by its message, read only on demand
};

PoisonFilter of_kind(std::string kind) {
  PoisonFilter out;
  out.kind = std::move(kind);
  return out;
}

PoisonFilter that_read(std::string table) {
  PoisonFilter out;
  out.source = std::move(table);
  return out;
}

/// One question in progress; lives in explain()'s frame. The newest records tell the past; the messages of jobs that
/// wait, run or were given up, however old they are, tell the possible future.
class Explainer {
 public:
  Explainer(const ExplainSources& sources, ObjectAccess access, Clock& clock)
      : from_(sources), clock_(clock), places_(sources.jobs, sources.tables, std::move(access)) {}

  Task<Result<Explanation>> run(std::string table, EntityKey key) {
    CO_TRY(co_await read_records());
    for (const auto& queue : from_.job_queues) CO_TRY(co_await read_waiting(queue));
    // Jobs that restore read no table.
    CO_TRY(co_await read_poison({of_kind("unarchive"), that_read(table)}));
    auto schedules = CO_TRY(co_await from_.schedules.all());
    out_.looked_at_schedules = schedules.size();
    for (const auto& job : jobs_) places_.connect(job.reach);
    for (const auto& schedule : schedules) {
      if (const auto spec = jobs::job_of(schedule.spec, schedule.name, clock_.now())) places_.connect(reach_of(*spec));
    }
    CO_TRY(co_await places_.search(table, std::move(key)));
    std::set<std::string> others;
    for (const auto& name : places_.tables()) {
      if (!iequals_ascii(name, table) && others.size() < kMostTables) others.insert(to_lower_ascii(name));
    }
    std::vector<PoisonFilter> of_others;
    for (const auto& other : others) of_others.push_back(that_read(other));
    if (!of_others.empty()) CO_TRY(co_await read_poison(std::move(of_others)));
    for (auto& job : jobs_) {
      CO_TRY(co_await judge(std::move(job)));
    }
    for (const auto& schedule : schedules) foresee(schedule);
    out_.complete = out_.complete && places_.complete();
    out_.places = places_.take();
    co_return std::move(out_);
  }

 private:
  void add(std::string id, const Result<JobMessage>& message, bool over, std::optional<JobRecord> record) {
    if (!known_.insert(id).second) return;
    ++out_.looked_at_jobs;
    if (!message) return;
    jobs_.push_back({std::move(id), seen_from(from_.jobs.account(), reach_of(message->spec)), over, std::move(record)});
  }

  Task<Result<void>> read_records() {
    std::string continuation;
    do {
      auto page = CO_TRY(co_await from_.jobs.list(kPage, std::move(continuation)));
      for (auto& record : page.jobs) {
        const bool over = is_terminal(record.state) && record.state != JobState::kPoisoned;
        const auto message = parse_job_message(record.spec);
        auto id = record.id;
        add(std::move(id), message, over, std::move(record));
      }
      continuation = std::move(page.continuation);
    } while (!continuation.empty() && out_.looked_at_jobs < kMostRecords);
    if (!continuation.empty()) out_.complete = false;
    co_return Result<void>{};
  }

  Task<Result<void>> read_waiting(std::string queue) {
    auto page = co_await from_.queues.list(queue, kMostWaiting, {});
    if (page.failed_with(ErrorCode::kQueueNotFound)) co_return Result<void>{};
    const auto found = CO_TRY(std::move(page));
    for (const auto& message : found.messages) {
      const auto parsed = parse_job_message(message.text);
      // A job that an SDK has put has no id until a worker gives it this one.
      auto id = parsed && !parsed->job_id.empty() ? parsed->job_id : job_id_of_message(message.inserted, message.id);
      add(std::move(id), parsed, false, {});
    }
    if (!found.continuation.empty()) out_.complete = false;
    co_return Result<void>{};
  }

  Task<Result<void>> read_poison(std::vector<PoisonFilter> which) {
    auto page = CO_TRY(co_await from_.poison.list_any(kMostPoison, {}, std::move(which)));
    for (auto& record : page.records) {
      if (!record.job_id.empty()) add(std::move(record.job_id), parse_job_message(record.body), false, {});
    }
    if (!page.continuation.empty()) out_.complete = false;
    co_return Result<void>{};
  }

  Task<Result<void>> judge(KnownJob job) {
    EntityJob out;
    out.from = job.reach.from;
    bool takes = places_.selected_by(job.reach);
    const bool names = places_.named_by(job.reach);
    if (!job.reach.undoes.empty() && !job.over) {
      if (auto back = co_await resolve(from_.jobs, job.reach)) {
        out.from = std::move(back->from);
        takes = places_.written_by(back->operation, out.from);
      }
    }
    if (!takes && !names) co_return Result<void>{};
    if (!job.record) job.record = CO_TRY(co_await from_.jobs.find(job.id));
    if (!job.record) co_return Result<void>{};
    const bool poisoned = job.record->state == JobState::kPoisoned;
    const bool ended = is_terminal(job.record->state);
    if (ended && !poisoned && !names) co_return Result<void>{};
    out.relation = poisoned ? Relation::kGaveUp : ended ? Relation::kNamed : Relation::kWouldTake;
    out.record = std::move(*job.record);
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
      const auto reach = seen_from(from_.jobs.account(), reach_of(*spec));
      if (!places_.present_at(reach.from)) return;
      if (places_.selected_by(reach)) {
        out_.schedules.push_back({schedule.name, std::string(kind_name(*spec)), reach.from, *due});
        return;
      }
      // A filter without times gives the same result for every due time.
      spec->idempotency_key.clear();
      auto again = canonical_text(*spec);
      if (again == text) return;
      text = std::move(again);
    }
  }

  const ExplainSources& from_;
  Clock& clock_;
  EntityPlaces places_;
  Explanation out_;
  std::vector<KnownJob> jobs_;
  std::set<std::string> known_;  // the ids of these jobs
  int evaluations_ = 0;
};

}  // namespace

Task<Result<Explanation>> explain(ExplainSources sources, ObjectAccess access, Clock& clock, std::string table,
                                  EntityKey key) {
  Explainer explainer(sources, std::move(access), clock);
  auto out = co_await explainer.run(std::move(table), std::move(key));
  if (out) {
    std::ranges::stable_sort(out->jobs, {}, [](const EntityJob& job) { return std::tie(job.relation, job.record.id); });
  }
  co_return out;
}

}  // namespace tidemark::jobs
