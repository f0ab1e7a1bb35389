#include "jobs/kinds/merge/merge.h"

#include "table_store/model/filter.h"
#include "table_store/model/limits.h"
#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using table_store::Mutation;
using table_store::WriteOutcome;

// An entity that changes between every read and write is tried this often before the job begins its page anew.
constexpr int kRounds = 8;

/// One run of a merging job.
class Merger final : public BulkJob {
 public:
  Merger(JobContext& context, jobs::MergeSpec spec)
      : BulkJob(context, source_,
                {.entity = spec.entity, .doing = "merging", .changed = "merged", .ledger_counts = false}),
        spec_(std::move(spec)),
        source_(context, {spec_.source, spec_.filter.value_or(""), ""}) {}

 private:
  Task<Result<void>> prepare() override;
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  /// Returns the entities that must be written; the others count as done or skipped.
  std::vector<Entity> unfinished(std::vector<Entity> entities);
  /// All entities of the group are of one partition.
  Task<Result<void>> merge(std::vector<Entity> group);
  /// Writes the group and returns the keys of the entities that have changed meanwhile.
  Task<Result<std::vector<std::string>>> write(const std::vector<Entity>& group);
  Task<Result<std::vector<Entity>>> read_again(std::string partition_key, std::vector<std::string> row_keys);

  jobs::MergeSpec spec_;
  TableSource source_;
  table_store::Filter filter_;
  std::vector<table_store::Property> properties_;
};

Task<Result<void>> Merger::prepare() {
  filter_ = CO_TRY(table_store::Filter::parse(spec_.filter.value_or("")));
  for (const auto& [name, value] : spec_.set) properties_.push_back({name, value});
  co_return Result<void>{};
}

Task<Result<void>> Merger::work_on(std::vector<Entity> entities) {
  std::vector<ChangeSet> changes;
  for (auto& group : partition_groups(unfinished(std::move(entities)))) {
    changes.push_back({group.size(),
                       {{spec_.source, group.front().partition_key}},
                       [this, group = std::move(group)]() mutable { return merge(std::move(group)); }});
  }
  CO_TRY(co_await make(std::move(changes)));
  fail_points::kMergePageAfter.reach();
  co_return Result<void>{};
}

std::vector<Entity> Merger::unfinished(std::vector<Entity> entities) {
  std::vector<Entity> out;
  for (auto& entity : entities) {
    if (entity.origin) {
      skip(kIndexRow, entity);
      continue;
    }
    if (jobs::has_values(entity, spec_.set)) {
      find_done();
      continue;
    }
    auto changed = entity;
    jobs::set_values(changed, spec_.set);
    const auto fits = table_store::check_entity_size(changed.partition_key, changed.row_key, changed.properties);
    if (fits) out.push_back(std::move(entity));
    if (!fits) skip(kTooLarge, changed);
  }
  return out;
}

Task<Result<void>> Merger::merge(std::vector<Entity> group) {
  for (int round = 0; round < kRounds; ++round) {
    auto partition_key = group.front().partition_key;
    auto changed = CO_TRY(co_await write(group));
    if (changed.empty()) co_return Result<void>{};
    group = unfinished(CO_TRY(co_await read_again(std::move(partition_key), std::move(changed))));
    if (group.empty()) co_return Result<void>{};
    CO_TRY(context_.check());
  }
  co_return kept_changing();
}

Task<Result<std::vector<std::string>>> Merger::write(const std::vector<Entity>& group) {
  std::vector<Mutation> mutations;
  for (const auto& entity : group) {
    mutations.push_back(jobs::write_of(entity.row_key, entity.version, properties_));
    mutations.back().kind = table_store::MutationKind::kMerge;
  }
  const auto outcomes = CO_TRY(co_await fail_points::kMergeWrite.around(context_.tables.mutate(
      spec_.source, group.front().partition_key, std::move(mutations), context_.fence(std::string(kDone)))));
  if (outcomes.size() != group.size()) co_return fail(ErrorCode::kInternalError);
  std::vector<std::string> changed;
  for (std::size_t i = 0; i < group.size(); ++i) {
    if (outcomes[i].kind == WriteOutcome::kApplied) did_in_ledger(1);
    if (outcomes[i].kind == WriteOutcome::kMissing) pass_over();
    if (outcomes[i].kind == WriteOutcome::kConflict) changed.push_back(group[i].row_key);
  }
  co_return changed;
}

Task<Result<std::vector<Entity>>> Merger::read_again(std::string partition_key, std::vector<std::string> row_keys) {
  auto found = CO_TRY(co_await context_.tables.get_all(spec_.source, std::move(partition_key), std::move(row_keys)));
  std::vector<Entity> out;
  for (auto& entity : found) {
    const bool selected = entity && filter_.matches(*entity);
    if (selected) out.push_back(std::move(*entity));
    if (!selected) pass_over();
  }
  co_return out;
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::MergeSpec spec) {
  return run_as<Merger>(context, std::move(spec));
}

}  // namespace tidemark::workers
