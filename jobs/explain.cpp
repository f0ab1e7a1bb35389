#include "jobs/explain.h"

#include <algorithm>
#include <array>

#include "common/base/encoding.h"
#include "jobs/schedule_plan.h"
#include "jobs/undo_plan.h"
#include "table_store/model/filter.h"

namespace tidemark::jobs {
namespace {

using table_store::Entity;

constexpr std::size_t kMostRecords = 2000;  // of each state
constexpr std::size_t kMostPlaces = 32;
constexpr std::array kStates{JobState::kQueued, JobState::kRunning, JobState::kPoisoned, JobState::kSucceeded,
                             JobState::kCancelled};
constexpr int kMostDueTimes = 400;        // of one schedule
constexpr int kMostEvaluations = 20'000;  // of all schedules

/// What a job reads and where to, whatever its kind. A kind that selects entities of a table and names it `source`
/// is understood without a word about it here.
struct Reach {
  std::string source, destination;
  Selection selection;
  bool everything = false;  // of the source
  bool keeps_key = false;   // what it writes to the destination has the key of the original
};

struct ReachOf {
  template <class Spec>
  Reach operator()(const Spec& spec) const {
    Reach out;
    if constexpr (requires { spec.source; }) out.source = spec.source;
    if constexpr (requires { spec.destination; }) out.destination = spec.destination;
    if constexpr (std::is_base_of_v<Selection, Spec>) out.selection = spec;
    if constexpr (requires { spec.whole_table; }) out.everything = spec.whole_table;
    if constexpr (std::is_same_v<Spec, ArchiveSpec> || std::is_same_v<Spec, UnarchiveSpec>) out.keeps_key = true;
    if constexpr (std::is_same_v<Spec, CopySpec>) {
      out.keeps_key = spec.partition_key_template == "{PartitionKey}" && spec.row_key_template == "{RowKey}";
    }
    return out;
  }
};

Reach reach_of(const JobSpec& spec) { return std::visit(ReachOf{}, spec.work); }

bool covers(const Reach& reach, const Entity& entity) {
  if (reach.everything) return true;
  if (reach.selection.entity) {
    return reach.selection.entity->partition_key == entity.partition_key &&
           reach.selection.entity->row_key == entity.row_key;
  }
  if (!reach.selection.filter) return false;
  const auto filter = table_store::Filter::parse(*reach.selection.filter);
  return filter && filter->matches(entity);
}

struct KnownJob {
  JobRecord record;
  JobSpec spec;
};

/// One question under way; lives in explain()'s frame.
class Explainer {
 public:
  Explainer(JobStore& store, ScheduleStore& schedules, table_store::TableClient& tables, Clock& clock, EntityKey key)
      : store_(store), schedules_(schedules), tables_(tables), clock_(clock), key_(std::move(key)) {}

  Task<Result<Explanation>> run(std::string table) {
    for (const auto state : kStates) {
      auto reading = read_jobs(state);
      auto read = co_await std::move(reading);
      if (!read) co_return fail(std::move(read.error()));
    }
    auto listing = schedules_.all();
    auto schedules = co_await std::move(listing);
    if (!schedules) co_return fail(std::move(schedules.error()));
    out_.looked_at_schedules = schedules->size();
    collect_places(table, *schedules);
    for (auto& place : out_.places) {
      auto looking = look(place);
      auto looked = co_await std::move(looking);
      if (!looked) co_return fail(std::move(looked.error()));
    }
    for (auto& job : jobs_) {
      auto judging = judge(std::move(job));
      auto judged = co_await std::move(judging);
      if (!judged) co_return fail(std::move(judged.error()));
    }
    for (const auto& schedule : *schedules) foresee(schedule);
    co_return std::move(out_);
  }

 private:
  Task<Result<void>> read_jobs(JobState state) {
    std::size_t read = 0;
    std::string continuation;
    do {
      auto task = store_.list(1000, std::move(continuation), {}, std::string(state_name(state)));
      auto page = co_await std::move(task);
      if (!page) co_return fail(std::move(page.error()));
      for (auto& record : page->jobs) {
        auto spec = parse_stored_spec(record.spec);
        if (spec) jobs_.push_back({std::move(record), std::move(*spec)});
        ++read;
      }
      continuation = std::move(page->continuation);
    } while (!continuation.empty() && read < kMostRecords);
    if (!continuation.empty()) out_.complete = false;
    out_.looked_at_jobs += read;
    co_return Result<void>{};
  }

  void add_place(const std::string& table) {
    const bool known = std::any_of(out_.places.begin(), out_.places.end(),
                                   [&](const EntityPlace& place) { return iequals_ascii(place.name, table); });
    if (known) return;
    if (out_.places.size() >= kMostPlaces) {
      out_.complete = false;
      return;
    }
    EntityPlace place;
    place.name = table;
    place.key = key_;
    out_.places.push_back(std::move(place));
  }

  /// The table, and every table that jobs or schedules connect it with under the same key.
  void collect_places(const std::string& table, const std::vector<Schedule>& schedules) {
    std::vector<std::pair<std::string, std::string>> edges;
    const auto add_edge = [&](const JobSpec& spec) {
      auto reach = reach_of(spec);
      if (!reach.keeps_key || reach.source.empty() || reach.destination.empty()) return;
      std::pair edge(std::move(reach.source), std::move(reach.destination));
      if (std::find(edges.begin(), edges.end(), edge) == edges.end()) edges.push_back(std::move(edge));
    };
    for (const auto& job : jobs_) add_edge(job.spec);
    for (const auto& schedule : schedules) {
      if (const auto spec = jobs::job_of(schedule.spec, schedule.name, clock_.now())) add_edge(*spec);
    }
    add_place(table);
    for (std::size_t next = 0; next < out_.places.size(); ++next) {
      const auto from = out_.places[next].name;
      for (const auto& [source, destination] : edges) {
        if (iequals_ascii(source, from)) add_place(destination);
        if (iequals_ascii(destination, from)) add_place(source);
      }
    }
  }

  Task<Result<void>> look(EntityPlace& place) {
    auto task = tables_.get(place.name, key_.partition_key, key_.row_key);
    auto entity = co_await std::move(task);
    if (entity.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};
    if (!entity) co_return fail(std::move(entity.error()));
    if (!entity->has_value()) co_return Result<void>{};
    place.present = true;
    place.version = (*entity)->version;
    place.source_version = (*entity)->source_version;
    place.job = (*entity)->operation;
    found_.emplace_back(place.name, std::move(**entity));
    if (place.job.empty()) co_return Result<void>{};
    auto finding = store_.find(place.job);
    auto record = co_await std::move(finding);
    if (!record) co_return fail(std::move(record.error()));
    place.record = std::move(*record);
    co_return Result<void>{};
  }

  [[nodiscard]] const Entity* at(const std::string& table) const {
    for (const auto& [name, entity] : found_) {
      if (iequals_ascii(name, table)) return &entity;
    }
    return nullptr;
  }

  Task<Result<void>> judge(KnownJob job) {
    EntityJob out;
    const auto reach = reach_of(job.spec);
    out.table = reach.source;
    const auto* entity = at(reach.source);
    bool takes = entity != nullptr && covers(reach, *entity);
    const bool ended = is_terminal(job.record.state);
    if (const auto* undo = std::get_if<UndoSpec>(&job.spec.work); undo != nullptr && !ended) {
      auto planning = plan_undo(store_, undo->job);
      const auto plan = co_await std::move(planning);
      if (plan) {
        entity = at(plan->source);
        takes = entity != nullptr && entity->operation == plan->operation;
        out.table = plan->source;
      }
    }
    const bool names = reach.selection.entity == key_ && is_place(reach.source);
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

  [[nodiscard]] bool is_place(const std::string& table) const {
    return std::any_of(out_.places.begin(), out_.places.end(),
                       [&](const EntityPlace& place) { return iequals_ascii(place.name, table); });
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
      const auto reach = reach_of(*spec);
      const auto* entity = at(reach.source);
      if (entity == nullptr) return;
      if (covers(reach, *entity)) {
        out_.schedules.push_back({schedule.name, std::string(kind_name(*spec)), reach.source, *due});
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
  table_store::TableClient& tables_;
  Clock& clock_;
  EntityKey key_;
  Explanation out_;
  std::vector<KnownJob> jobs_;
  std::vector<std::pair<std::string, Entity>> found_;  // by table
  int evaluations_ = 0;
};

}  // namespace

Task<Result<Explanation>> explain(JobStore& store, ScheduleStore& schedules, table_store::TableClient& tables,
                                  Clock& clock, std::string table, EntityKey key) {
  Explainer explainer(store, schedules, tables, clock, std::move(key));
  auto task = explainer.run(std::move(table));
  auto out = co_await std::move(task);
  if (out) {
    std::stable_sort(out->jobs.begin(), out->jobs.end(),
                     [](const EntityJob& a, const EntityJob& b) { return a.relation < b.relation; });
  }
  co_return out;
}

}  // namespace tidemark::jobs
