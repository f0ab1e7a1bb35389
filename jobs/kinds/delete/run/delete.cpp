#include "jobs/kinds/delete/run/delete.h"

#include "workers/runtime/fail_points.h"
#include "workers/runtime/pages.h"
#include "workers/runtime/run_as.h"
#include "workers/runtime/side_by_side.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::OperationLedger;
using table_store::OutcomeKind;

constexpr std::string_view kSkipped = "skipped";
constexpr int kPasses = 10;

/// One run of a deleting job. Lives in run_erase's frame.
class Eraser {
 public:
  Eraser(JobContext& context, EraseSpec spec)
      : context_(context),
        spec_(std::move(spec)),
        pages_(context, {spec_.table, spec_.filter.value_or(""), spec_.operation}) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> work(OperationLedger ledger);
  Task<Result<void>> drop_table();
  Task<Result<void>> erase_one();
  Task<Result<void>> erase_all();
  Task<Result<void>> erase_one_of_page(std::vector<Entity> group);
  /// True: all of them are gone; otherwise some changed meanwhile.
  Task<Result<bool>> erase(std::vector<Entity> group);
  Task<Result<void>> pause();
  Task<Result<void>> report();

  JobContext& context_;
  EraseSpec spec_;
  Pages pages_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  std::uint64_t under_way_ = 0;  // entities of groups that are being removed
  bool page_clean_ = true;
};

Task<Result<JobOutcome>> Eraser::run() {
  if (context_.checkpoint().is_object()) continuation_ = context_.checkpoint().value("continuation", std::string());
  JobContext::Work doing = [this](OperationLedger before) { return work(std::move(before)); };
  auto ledger = CO_TRY(co_await context_.complete(std::move(doing)));
  JobOutcome outcome;
  outcome.done = ledger.counter(kDone);
  outcome.skipped = ledger.counter(kSkipped);
  if (spec_.whole_table) outcome.total = 1;
  if (*outcome.skipped > 0 && spec_.entity) {
    SkipLog skips;
    skips.add("not found", spec_.entity->partition_key, spec_.entity->row_key);
    outcome.skips = skips.text();
  }
  co_return outcome;
}

Task<Result<void>> Eraser::work(OperationLedger ledger) {
  done_ = ledger.counter(kDone);
  // One entity or one table: what this operation removed is not removed again, whatever has been created since.
  const bool single = spec_.entity || spec_.whole_table;
  if (single && (ledger.counter(kDone) > 0 || ledger.counter(kSkipped) > 0)) co_return Result<void>{};
  CO_TRY(co_await require_table(context_, spec_.table, "source"));
  if (!spec_.entity && (!spec_.whole_table || context_.limits().max_affected)) {
    CO_TRY(co_await pages_.begin(continuation_, done_));
  }
  co_return co_await (spec_.whole_table ? drop_table() : spec_.entity ? erase_one() : erase_all());
}

Task<Result<void>> Eraser::drop_table() {
  CO_TRY(context_.check());
  fail_points::kDropTable.before.reach();
  auto dropped = co_await context_.tables.delete_table_fenced(spec_.table, context_.fence(std::string(kDone)));
  fail_points::kDropTable.after.reach();
  if (dropped.failed_with(ErrorCode::kResourceNotFound)) {
    co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.table + "' does not exist.");
  }
  co_return dropped;
}

Task<Result<void>> Eraser::erase_one() {
  const auto& key = *spec_.entity;
  std::vector<Place> places{{spec_.table, key.partition_key}};
  const auto permit = CO_TRY(co_await context_.admit(0, 1, std::move(places)));
  for (int pass = 0; pass < kPasses; ++pass) {
    CO_TRY(context_.check());
    auto entity = CO_TRY(co_await context_.tables.get(spec_.table, key.partition_key, key.row_key));
    if (!entity.has_value()) {
      CO_TRY(co_await context_.tables.count(context_.fence(std::string(kSkipped)), 1));
      co_return Result<void>{};
    }
    std::vector<Entity> group;
    group.push_back(std::move(*entity));
    auto gone = CO_TRY(co_await erase(std::move(group)));
    if (gone) co_return Result<void>{};
  }
  co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The entity kept changing while it was deleted.");
}

Task<Result<void>> Eraser::erase_all() {
  int passes = 0;
  while (true) {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await pages_.read(continuation_));
    page_clean_ = true;
    const auto cuts = partition_groups(page.entities);
    auto groups = cut_up(std::move(page.entities), cuts);
    CO_TRY(co_await side_by_side(context_.clock, groups.size(), [this, &groups](std::size_t number) {
      return erase_one_of_page(std::move(groups[number]));
    }));
    fail_points::kDeletePageAfter.reach();
    if (!page_clean_) {
      // The cursor never passes unfinished work: what changed is read again, and stays if it matches no more.
      if (++passes >= kPasses) {
        co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "Some entities kept changing while they were deleted.");
      }
      CO_TRY(co_await pause());
      continue;
    }
    passes = 0;
    continuation_ = page.continuation;
    if (continuation_.empty()) co_return Result<void>{};
    context_.save({{"continuation", continuation_}});
  }
}

Task<Result<void>> Eraser::erase_one_of_page(std::vector<Entity> group) {
  const auto count = group.size();
  std::vector<Place> places{{spec_.table, group.front().partition_key}};
  auto admit_task = context_.admit(done_ + under_way_, count, std::move(places));
  under_way_ += count;
  const auto permit = CO_TRY(co_await std::move(admit_task));
  auto gone = co_await erase(std::move(group));
  under_way_ -= count;
  if (!gone) co_return fail(std::move(gone.error()));
  page_clean_ = page_clean_ && *gone;
  co_return co_await report();
}

Task<Result<bool>> Eraser::erase(std::vector<Entity> group) {
  auto partition_key = group.front().partition_key;
  std::vector<Mutation> mutations;
  for (auto& entity : group) {
    Mutation mutation;
    mutation.kind = MutationKind::kErase;
    mutation.row_key = std::move(entity.row_key);
    mutation.if_version = entity.version;
    mutation.lenient = true;
    mutations.push_back(std::move(mutation));
  }
  CO_TRY(context_.check());
  fail_points::kDeleteErase.before.reach();
  auto outcomes = co_await context_.tables.mutate(spec_.table, std::move(partition_key), std::move(mutations),
                                                  context_.fence(std::string(kDone)));
  fail_points::kDeleteErase.after.reach();
  if (!outcomes) co_return fail(std::move(outcomes.error()));
  bool clean = true;
  for (const auto& outcome : *outcomes) {
    if (outcome.kind == OutcomeKind::kApplied) ++done_;
    if (outcome.kind == OutcomeKind::kConflict) clean = false;
  }
  co_return clean;
}

Task<Result<void>> Eraser::pause() {
  const auto pause = Duration(static_cast<std::int64_t>(context_.random.below(2'000'000)));
  co_await sleep_for(context_.clock, pause);
  co_return Result<void>{};
}

Task<Result<void>> Eraser::report() {
  JobProgress progress;
  progress.done = done_;
  progress.phase = "deleting";
  return pages_.report(std::move(progress), false);
}

}  // namespace

Task<Result<JobOutcome>> run_erase(JobContext& context, EraseSpec spec) {
  return run_as<Eraser>(context, std::move(spec));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::DeleteSpec spec) {
  EraseSpec erase;
  static_cast<jobs::Selection&>(erase) = static_cast<jobs::Selection&>(spec);
  erase.table = std::move(spec.source);
  erase.whole_table = spec.whole_table;
  return run_erase(context, std::move(erase));
}

}  // namespace tidemark::workers
