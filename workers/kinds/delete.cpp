#include "workers/kinds/delete.h"

#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using table_store::Mutation;
using table_store::WriteOutcome;

/// One run of a deleting job.
class Eraser final : public BulkJob {
 public:
  Eraser(JobContext& context, jobs::Reach reach)
      : BulkJob(context, source_, {.entity = reach.selection.entity, .doing = "deleting", .changed = "deleted"}),
        table_(reach.from.table),
        source_(context,
                {reach.from.table, reach.selection.filter.value_or(""), reach.operation, {}, reach.from.account}) {}

 private:
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Task<Result<void>> erase(std::vector<Entity> group);

  std::string table_;
  TableSource source_;
};

Task<Result<void>> Eraser::work_on(std::vector<Entity> entities) {
  std::vector<ChangeSet> changes;
  for (auto& group : partition_groups(std::move(entities))) {
    changes.push_back({group.size(),
                       {{table_, group.front().partition_key}},
                       [this, group = std::move(group)]() mutable { return erase(std::move(group)); }});
  }
  CO_TRY(co_await make(std::move(changes)));
  fail_points::kDeletePageAfter.reach();
  co_return Result<void>{};
}

Task<Result<void>> Eraser::erase(std::vector<Entity> group) {
  std::vector<Mutation> mutations;
  for (auto& entity : group) mutations.push_back(jobs::erasure_of(std::move(entity.row_key), entity.version));
  const auto outcomes = CO_TRY(co_await fail_points::kDeleteErase.around(context_.ledger().mutate(
      table_, group.front().partition_key, std::move(mutations), context_.fence(std::string(kDone)))));
  for (const auto& outcome : outcomes) {
    if (outcome.kind == WriteOutcome::kApplied) did(1);
    // An entity that changed is read again, and stays if it no longer matches.
    if (outcome.kind == WriteOutcome::kConflict) look_again();
  }
  co_return Result<void>{};
}

Task<Result<void>> drop(JobContext& context, std::string table, std::uint64_t done) {
  // A table of this name that exists by now has been created since.
  if (done > 0) co_return Result<void>{};
  if (context.spec().max_affected) {
    TableSource entities(context, {table, "", ""});
    CO_TRY(co_await entities.begin({}, 0));
  }
  CO_TRY(context.check());
  auto dropped = co_await fail_points::kDropTable.around(
      context.tables.delete_table_fenced(table, context.fence(std::string(kDone))));
  if (dropped.failed_with(ErrorCode::kResourceNotFound)) {
    co_return fail(ErrorCode::kTableNotFound, "The source table '" + table + "' does not exist.");
  }
  co_return dropped;
}

Task<Result<JobOutcome>> run_drop(JobContext& context, std::string table) {
  const auto ledger = CO_TRY(co_await context.complete(
      [&](const table_store::OperationLedger& before) { return drop(context, table, before.counter(kDone)); }));
  JobOutcome outcome;
  outcome.done = ledger.counter(kDone);
  outcome.total = 1;
  co_return outcome;
}

}  // namespace

Task<Result<JobOutcome>> run_erase(JobContext& context, jobs::Reach reach) {
  return run_as<Eraser>(context, std::move(reach));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::DeleteSpec spec) {
  if (spec.whole_table) return run_drop(context, std::move(spec.source));
  return run_erase(context, spec.reach());
}

}  // namespace tidemark::workers
