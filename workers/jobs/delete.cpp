#include "workers/jobs/delete.h"

#include "workers/jobs/pages.h"
#include "workers/jobs/run_as.h"
#include "workers/runtime/fail_points.h"
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
  auto task = context_.complete(std::move(doing));
  auto ledger = co_await std::move(task);
  if (!ledger) co_return fail(std::move(ledger.error()));
  JobOutcome outcome;
  outcome.done = ledger->counter(kDone);
  outcome.skipped = ledger->counter(kSkipped);
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
  auto table_task = require_table(context_, spec_.table, "source");
  auto table = co_await std::move(table_task);
  if (!table) co_return table;
  if (!spec_.entity && (!spec_.whole_table || context_.limits().max_affected)) {
    auto begin_task = pages_.begin(continuation_, done_);
    auto begun = co_await std::move(begin_task);
    if (!begun) co_return begun;
  }
  auto task = spec_.whole_table ? drop_table() : spec_.entity ? erase_one() : erase_all();
  auto done = co_await std::move(task);
  co_return done;
}

Task<Result<void>> Eraser::drop_table() {
  auto going = context_.check();
  if (!going) co_return going;
  fail_points::kDropTable.before.reach();
  auto task = context_.tables.delete_table_fenced(spec_.table, context_.fence(std::string(kDone)));
  auto dropped = co_await std::move(task);
  fail_points::kDropTable.after.reach();
  if (dropped.failed_with(ErrorCode::kResourceNotFound)) {
    co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.table + "' does not exist.");
  }
  co_return dropped;
}

Task<Result<void>> Eraser::erase_one() {
  const auto& key = *spec_.entity;
  std::vector<Place> places{{spec_.table, key.partition_key}};
  auto admit_task = context_.admit(0, 1, std::move(places));
  auto permit = co_await std::move(admit_task);
  if (!permit) co_return fail(std::move(permit.error()));
  for (int pass = 0; pass < kPasses; ++pass) {
    auto going = context_.check();
    if (!going) co_return going;
    auto get_task = context_.tables.get(spec_.table, key.partition_key, key.row_key);
    auto entity = co_await std::move(get_task);
    if (!entity) co_return fail(std::move(entity.error()));
    if (!entity->has_value()) {
      auto count_task = context_.tables.count(context_.fence(std::string(kSkipped)), 1);
      auto counted = co_await std::move(count_task);
      if (!counted) co_return fail(std::move(counted.error()));
      co_return Result<void>{};
    }
    std::vector<Entity> group;
    group.push_back(std::move(**entity));
    auto erase_task = erase(std::move(group));
    auto gone = co_await std::move(erase_task);
    if (!gone) co_return fail(std::move(gone.error()));
    if (*gone) co_return Result<void>{};
  }
  co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The entity kept changing while it was deleted.");
}

Task<Result<void>> Eraser::erase_all() {
  int passes = 0;
  while (true) {
    auto going = context_.check();
    if (!going) co_return going;
    auto page_task = pages_.read(continuation_);
    auto page = co_await std::move(page_task);
    if (!page) co_return fail(std::move(page.error()));
    page_clean_ = true;
    const auto cuts = partition_groups(page->entities);
    auto groups = cut_up(std::move(page->entities), cuts);
    Step step = [this, &groups](std::size_t number) { return erase_one_of_page(std::move(groups[number])); };
    auto erasing = side_by_side(context_.clock, groups.size(), std::move(step));
    auto erased = co_await std::move(erasing);
    if (!erased) co_return erased;
    fail_points::kDeletePageAfter.reach();
    if (!page_clean_) {
      // The cursor never passes unfinished work: what changed is read again, and stays if it matches no more.
      if (++passes >= kPasses) {
        co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "Some entities kept changing while they were deleted.");
      }
      auto nap = pause();
      auto rested = co_await std::move(nap);
      if (!rested) co_return rested;
      continue;
    }
    passes = 0;
    continuation_ = page->continuation;
    if (continuation_.empty()) co_return Result<void>{};
    context_.save({{"continuation", continuation_}});
  }
}

Task<Result<void>> Eraser::erase_one_of_page(std::vector<Entity> group) {
  const auto count = group.size();
  std::vector<Place> places{{spec_.table, group.front().partition_key}};
  auto admit_task = context_.admit(done_ + under_way_, count, std::move(places));
  under_way_ += count;
  auto permit = co_await std::move(admit_task);
  if (!permit) co_return fail(std::move(permit.error()));
  auto erase_task = erase(std::move(group));
  auto gone = co_await std::move(erase_task);
  under_way_ -= count;
  if (!gone) co_return fail(std::move(gone.error()));
  page_clean_ = page_clean_ && *gone;
  auto report_task = report();
  auto reported = co_await std::move(report_task);
  co_return reported;
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
  auto going = context_.check();
  if (!going) co_return fail(std::move(going.error()));
  fail_points::kDeleteErase.before.reach();
  auto task = context_.tables.mutate(spec_.table, std::move(partition_key), std::move(mutations),
                                     context_.fence(std::string(kDone)));
  auto outcomes = co_await std::move(task);
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
  auto nap = sleep_for(context_.clock, pause);
  co_await std::move(nap);
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

Task<Result<JobOutcome>> run_delete(JobContext& context, jobs::DeleteSpec spec) {
  EraseSpec erase;
  static_cast<jobs::Selection&>(erase) = static_cast<jobs::Selection&>(spec);
  erase.table = std::move(spec.source);
  erase.whole_table = spec.whole_table;
  return run_erase(context, std::move(erase));
}

}  // namespace tidemark::workers
