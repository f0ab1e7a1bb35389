#include "jobs/kinds/delete/run/delete.h"

#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/run_as.h"

namespace tidemark::workers {
namespace {

using table_store::Mutation;
using table_store::MutationKind;
using table_store::WriteOutcome;

/// One run of a deleting job.
class Eraser final : public BulkJob {
 public:
  Eraser(JobContext& context, EraseSpec spec)
      : BulkJob(context, source_, {.entity = spec.entity, .doing = "deleting", .changed = "deleted"}),
        table_(spec.table),
        source_(context, {spec.table, spec.filter.value_or(""), spec.operation}) {}

 private:
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Task<Result<void>> erase(std::vector<Entity> group);

  std::string table_;
  TableSource source_;
};

Task<Result<void>> Eraser::work_on(std::vector<Entity> entities) {
  std::vector<Change> changes;
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
  for (auto& entity : group) {
    Mutation mutation;
    mutation.kind = MutationKind::kErase;
    mutation.row_key = std::move(entity.row_key);
    mutation.if_version = entity.version;
    mutation.lenient = true;
    mutations.push_back(std::move(mutation));
  }
  fail_points::kDeleteErase.before.reach();
  const auto outcomes = co_await context_.tables.mutate(table_, group.front().partition_key, std::move(mutations),
                                                        context_.fence(std::string(kDone)));
  fail_points::kDeleteErase.after.reach();
  for (const auto& outcome : CO_TRY(outcomes)) {
    if (outcome.kind == WriteOutcome::kApplied) did(1);
    // What changed is read again, and stays if it matches no more.
    if (outcome.kind == WriteOutcome::kConflict) look_again();
  }
  co_return Result<void>{};
}

/// A whole table.
class Dropper {
 public:
  Dropper(JobContext& context, std::string table) : context_(context), table_(std::move(table)) {}

  Task<Result<JobOutcome>> run() {
    JobContext::Work work = [this](const table_store::OperationLedger& before) { return drop(before.counter(kDone)); };
    JobOutcome outcome;
    outcome.done = CO_TRY(co_await context_.complete(std::move(work))).counter(kDone);
    outcome.total = 1;
    co_return outcome;
  }

 private:
  Task<Result<void>> drop(std::uint64_t done) {
    // A table of this name that is there by now has been created since.
    if (done > 0) co_return Result<void>{};
    if (context_.limits().max_affected) {
      TableSource entities(context_, {table_, "", ""});
      CO_TRY(co_await entities.begin({}, 0));
    }
    CO_TRY(context_.check());
    fail_points::kDropTable.before.reach();
    auto dropped = co_await context_.tables.delete_table_fenced(table_, context_.fence(std::string(kDone)));
    fail_points::kDropTable.after.reach();
    if (dropped.failed_with(ErrorCode::kResourceNotFound)) {
      co_return fail(ErrorCode::kTableNotFound, "The source table '" + table_ + "' does not exist.");
    }
    co_return dropped;
  }

  JobContext& context_;
  std::string table_;
};

}  // namespace

Task<Result<JobOutcome>> run_erase(JobContext& context, EraseSpec spec) {
  return run_as<Eraser>(context, std::move(spec));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::DeleteSpec spec) {
  if (spec.whole_table) return run_as<Dropper>(context, std::move(spec.source));
  EraseSpec erase;
  static_cast<jobs::Selection&>(erase) = static_cast<jobs::Selection&>(spec);
  erase.table = std::move(spec.source);
  return run_erase(context, std::move(erase));
}

}  // namespace tidemark::workers
