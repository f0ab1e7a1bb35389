#include "workers/jobs/mover.h"

#include "common/base/encoding.h"
#include "workers/jobs/pages.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/side_by_side.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;
using table_store::MutationOutcome;
using table_store::OperationLedger;
using table_store::OutcomeKind;
using table_store::Version;

constexpr std::string_view kDone = "done";
constexpr std::string_view kSkipped = "skipped";
// An entity that changes between every read and erase is tried this often in its page, and the page this often.
constexpr int kEntityRounds = 8;
constexpr int kPagePasses = 10;
constexpr std::string_view kInTheWay = "another entity is in the way";
constexpr std::string_view kNewerThere = "a newer entity is there";
constexpr std::string_view kMissing = "not found";

Version archived_version(const Entity& entity) { return entity.source_version.value_or(entity.version); }

Mutation copy_of(const Entity& entity, bool back) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = entity.row_key;
  mutation.properties = entity.properties;
  mutation.source_version = back ? archived_version(entity) : entity.version;
  return mutation;
}

Mutation removal_of(const Entity& entity) {
  Mutation mutation;
  mutation.kind = MutationKind::kErase;
  mutation.row_key = entity.row_key;
  mutation.if_version = entity.version;
  mutation.lenient = true;
  return mutation;
}

/// One run of a moving job. Lives in run_move's frame.
class Mover {
 public:
  Mover(JobContext& context, MoveSpec spec)
      : context_(context),
        spec_(std::move(spec)),
        pages_(context, {spec_.source, spec_.filter.value_or(""), spec_.operation}) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> check_tables();
  Task<Result<void>> move_one();
  Task<Result<void>> move_all();
  Task<Result<void>> finish_pending();
  Task<Result<void>> plan(std::vector<Entity> entities);
  /// Moves the entities; those that changed meanwhile are read again. True: nothing is left of them in the source
  /// that this job should have moved.
  Task<Result<bool>> move_page(std::vector<Entity> entities);
  Task<Result<void>> move_one_of_page(std::vector<Entity> group);
  /// Moves a group of one partition; returns the row keys to be read again.
  Task<Result<std::vector<std::string>>> move_group(std::vector<Entity> group);
  /// Creates the destination if it is missing.
  Task<Result<std::vector<MutationOutcome>>> put_copies(std::string partition_key, std::vector<Mutation> copies);
  Task<Result<bool>> redo(std::string partition_key, std::vector<std::string> row_keys);
  /// Whether a newer entity in the destination is one that was put there directly, which archiving must not replace.
  Task<Result<bool>> blocked(std::string partition_key, std::string row_key);
  [[nodiscard]] json checkpoint(json pending) const {
    return {{"continuation", continuation_}, {"pending", std::move(pending)}, {"skips", skips_.to_json()}};
  }
  /// Where a move of the partition changes something.
  [[nodiscard]] std::vector<Place> places(const std::string& partition_key) const {
    return {{spec_.source, partition_key}, {spec_.destination, partition_key}};
  }
  Task<Result<void>> report(bool force);

  JobContext& context_;
  MoveSpec spec_;
  Pages pages_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  SkipLog skips_;
  std::uint64_t under_way_ = 0;  // entities of groups that are being moved
  bool page_clean_ = true;
  SkipLog page_skips_;  // of the page at hand; counted when it is finished
};

Task<Result<JobOutcome>> Mover::run() {
  auto open_task = context_.open();
  auto ledger = co_await std::move(open_task);
  if (!ledger) co_return fail(std::move(ledger.error()));
  const auto& saved = context_.checkpoint();
  if (saved.is_object()) {
    continuation_ = saved.value("continuation", std::string());
    skips_ = SkipLog::from_json(saved.value("skips", json::array()));
  }
  done_ = ledger->counter(kDone);
  if (!ledger->closed) {
    if (!spec_.entity) {
      auto tables_task = check_tables();
      auto tables = co_await std::move(tables_task);
      if (!tables) co_return fail(std::move(tables.error()));
    }
    auto work_task = spec_.entity ? move_one() : move_all();
    auto worked = co_await std::move(work_task);
    if (!worked) co_return fail(std::move(worked.error()));
    // The figures are in the record before the operation closes: nobody could count the skips again afterwards.
    if (!spec_.entity) {
      auto report_task = report(true);
      auto reported = co_await std::move(report_task);
      if (!reported) co_return fail(std::move(reported.error()));
    }
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    auto close_task = context_.close();
    ledger = co_await std::move(close_task);
    if (!ledger) co_return fail(std::move(ledger.error()));
  }
  JobOutcome outcome;
  outcome.done = ledger->counter(kDone);
  if (spec_.entity) {
    outcome.skipped = ledger->counter(kSkipped);
    outcome.skips = skips_.text();
  }
  co_return outcome;
}

Task<Result<void>> Mover::check_tables() {
  auto source_task = require_table(context_, spec_.source, "source");
  auto source = co_await std::move(source_task);
  if (!source) co_return fail(std::move(source.error()));
  auto destination_task = ensure_table(context_, spec_.destination);
  auto destination = co_await std::move(destination_task);
  co_return destination;
}

Task<Result<void>> Mover::move_one() {
  // Moved by an earlier delivery: what is there by now is another entity.
  if (done_ > 0) co_return Result<void>{};
  const auto& key = *spec_.entity;
  auto admit_task = context_.admit(0, 1, places(key.partition_key));
  auto permit = co_await std::move(admit_task);
  if (!permit) co_return fail(std::move(permit.error()));
  std::vector<std::string> rows{key.row_key};
  auto redo_task = redo(key.partition_key, std::move(rows));
  auto moved = co_await std::move(redo_task);
  if (!moved) co_return fail(std::move(moved.error()));
  if (!*moved) co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The entity kept changing while it was moved.");

  if (done_ > 0) co_return Result<void>{};
  auto ledger_task = context_.tables.read_operation(context_.job_id());
  auto ledger = co_await std::move(ledger_task);
  if (!ledger) co_return fail(std::move(ledger.error()));
  if (ledger->counter(kDone) > 0 || ledger->counter(kSkipped) > 0) co_return Result<void>{};
  auto copy_task = context_.tables.get(spec_.destination, key.partition_key, key.row_key);
  auto copy = co_await std::move(copy_task);
  // Nothing was ever archived, not even the table is there.
  const bool no_table = copy.failed_with(ErrorCode::kTableNotFound);
  if (!copy && !no_table) co_return fail(std::move(copy.error()));
  const bool archived = !no_table && copy->has_value() && (*copy)->source_version && page_skips_.count() == 0;
  if (archived) co_return Result<void>{};
  // Neither here nor there, or in the way: an outcome, not a failure.
  if (page_skips_.count() == 0) page_skips_.add(kMissing, key.partition_key, key.row_key);
  skips_.add(page_skips_);
  auto count_task = context_.tables.count(context_.fence(std::string(kSkipped)), 1);
  auto counted = co_await std::move(count_task);
  if (!counted) co_return fail(std::move(counted.error()));
  co_return Result<void>{};
}

Task<Result<void>> Mover::move_all() {
  auto begin_task = pages_.begin(continuation_, done_ + skips_.count());
  auto begun = co_await std::move(begin_task);
  if (!begun) co_return begun;
  auto pending_task = finish_pending();
  auto finished = co_await std::move(pending_task);
  if (!finished) co_return fail(std::move(finished.error()));
  int passes = 0;
  while (true) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    page_skips_.clear();
    auto page_task = pages_.read(continuation_);
    auto page = co_await std::move(page_task);
    if (!page) co_return fail(std::move(page.error()));
    bool clean = true;
    if (!page->entities.empty()) {
      auto plan_task = plan(page->entities);
      auto planned = co_await std::move(plan_task);
      if (!planned) co_return fail(std::move(planned.error()));
      auto move_task = move_page(std::move(page->entities));
      auto moved = co_await std::move(move_task);
      if (!moved) co_return fail(std::move(moved.error()));
      clean = *moved;
    }
    fail_points::kMovePageAfter.reach();
    if (!clean) {
      // The cursor never passes unfinished work: the same page again, a little later.
      if (++passes >= kPagePasses) {
        co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "Some entities kept changing while they were moved.");
      }
      const auto pause = Duration(static_cast<std::int64_t>(context_.random.below(2'000'000)));
      auto nap = sleep_for(context_.clock, pause);
      co_await std::move(nap);
      continue;
    }
    passes = 0;
    skips_.add(page_skips_);
    continuation_ = page->continuation;
    if (continuation_.empty()) break;
    context_.save(checkpoint(json::array()));
    auto report_task = report(false);
    auto reported = co_await std::move(report_task);
    if (!reported) co_return fail(std::move(reported.error()));
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::finish_pending() {
  const auto& saved = context_.checkpoint();
  if (!saved.is_object()) co_return Result<void>{};
  for (const auto& [partition_key, row_key] : keys_from_json(saved.value("pending", json::array()))) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    auto copy_task = context_.tables.get(spec_.destination, partition_key, row_key);
    auto copy = co_await std::move(copy_task);
    if (!copy) co_return fail(std::move(copy.error()));
    // Without a copy nothing was begun: the page's query finds the entity, if it still matches.
    if (!copy->has_value() || !(*copy)->source_version) continue;
    std::vector<std::string> rows{row_key};
    auto redo_task = redo(partition_key, std::move(rows));
    auto moved = co_await std::move(redo_task);
    if (!moved) co_return fail(std::move(moved.error()));
    if (!*moved) {
      co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "Some entities kept changing while they were moved.");
    }
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::plan(std::vector<Entity> entities) {
  auto pending = keys_json(entities);
  fail_points::kMovePlan.before.reach();
  auto task = context_.save_now(checkpoint(std::move(pending)));
  auto saved = co_await std::move(task);
  fail_points::kMovePlan.after.reach();
  co_return saved;
}

Task<Result<bool>> Mover::move_page(std::vector<Entity> entities) {
  page_clean_ = true;
  std::vector<std::vector<Entity>> groups;
  for (const auto& [begin, end] : partition_groups(entities)) {
    const auto first = entities.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = entities.begin() + static_cast<std::ptrdiff_t>(end);
    groups.emplace_back(std::make_move_iterator(first), std::make_move_iterator(last));
  }
  Step step = [this, &groups](std::size_t number) { return move_one_of_page(std::move(groups[number])); };
  auto moving = side_by_side(context_.clock, groups.size(), std::move(step));
  auto moved = co_await std::move(moving);
  if (!moved) co_return fail(std::move(moved.error()));
  co_return page_clean_;
}

Task<Result<void>> Mover::move_one_of_page(std::vector<Entity> group) {
  auto going = context_.check();
  if (!going) co_return going;
  const auto partition_key = group.front().partition_key;
  const auto count = group.size();
  auto admit_task = context_.admit(done_ + under_way_, count, places(partition_key));
  under_way_ += count;
  auto permit = co_await std::move(admit_task);
  if (!permit) co_return fail(std::move(permit.error()));
  auto move_task = move_group(std::move(group));
  auto again = co_await std::move(move_task);
  under_way_ -= count;
  if (!again) co_return fail(std::move(again.error()));
  if (!again->empty()) {
    auto redo_task = redo(partition_key, std::move(*again));
    auto moved = co_await std::move(redo_task);
    if (!moved) co_return fail(std::move(moved.error()));
    page_clean_ = page_clean_ && *moved;
  }
  auto report_task = report(false);
  auto reported = co_await std::move(report_task);
  co_return reported;
}

Task<Result<std::vector<MutationOutcome>>> Mover::put_copies(std::string partition_key, std::vector<Mutation> copies) {
  // The tables of a bulk job were checked at its start; one entity's job asks only when it must.
  std::vector<Mutation> again;
  if (spec_.entity) again = copies;
  fail_points::kMoveCopy.before.reach();
  auto copy_task =
      context_.tables.mutate(spec_.destination, partition_key, std::move(copies), context_.fence(std::string()));
  auto copied = co_await std::move(copy_task);
  fail_points::kMoveCopy.after.reach();
  if (again.empty() || !copied.failed_with(ErrorCode::kTableNotFound)) co_return copied;
  auto create_task = ensure_table(context_, spec_.destination);
  auto created = co_await std::move(create_task);
  if (!created) co_return fail(std::move(created.error()));
  auto again_task = context_.tables.mutate(spec_.destination, std::move(partition_key), std::move(again),
                                           context_.fence(std::string()));
  auto done = co_await std::move(again_task);
  co_return done;
}

Task<Result<std::vector<std::string>>> Mover::move_group(std::vector<Entity> group) {
  std::vector<std::string> again;
  const auto partition_key = group.front().partition_key;
  std::vector<Mutation> copies;
  for (const auto& entity : group) copies.push_back(copy_of(entity, spec_.back));
  auto copy_task = put_copies(partition_key, std::move(copies));
  auto copied = co_await std::move(copy_task);
  if (!copied) co_return fail(std::move(copied.error()));
  if (copied->size() != group.size()) co_return fail(ErrorCode::kInternalError);

  std::vector<Mutation> removals;
  std::vector<std::string> removed_rows;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const auto kind = (*copied)[i].kind;
    if (kind == OutcomeKind::kApplied || kind == OutcomeKind::kUnchanged) {
      removals.push_back(removal_of(group[i]));
      removed_rows.push_back(group[i].row_key);
      continue;
    }
    if (spec_.back) {
      page_skips_.add(kNewerThere, partition_key, group[i].row_key);
      continue;
    }
    // Something newer is there. A newer archived copy means that the source has moved on: read it again.
    auto blocked_task = blocked(partition_key, group[i].row_key);
    auto in_the_way = co_await std::move(blocked_task);
    if (!in_the_way) co_return fail(std::move(in_the_way.error()));
    if (*in_the_way) {
      page_skips_.add(kInTheWay, partition_key, group[i].row_key);
    } else {
      again.push_back(group[i].row_key);
    }
  }
  if (removals.empty()) co_return again;

  auto going = context_.check();
  if (!going) co_return fail(std::move(going.error()));
  fail_points::kMoveErase.before.reach();
  auto erase_task =
      context_.tables.mutate(spec_.source, partition_key, std::move(removals), context_.fence(std::string(kDone)));
  auto erased = co_await std::move(erase_task);
  fail_points::kMoveErase.after.reach();
  if (!erased) co_return fail(std::move(erased.error()));
  if (erased->size() != removed_rows.size()) co_return fail(ErrorCode::kInternalError);
  for (std::size_t i = 0; i < removed_rows.size(); ++i) {
    if ((*erased)[i].kind == OutcomeKind::kApplied) ++done_;
    if ((*erased)[i].kind == OutcomeKind::kConflict) again.push_back(removed_rows[i]);
  }
  co_return again;
}

Task<Result<bool>> Mover::redo(std::string partition_key, std::vector<std::string> row_keys) {
  for (int round = 0; round < kEntityRounds && !row_keys.empty(); ++round) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    std::vector<std::string> again;
    for (const auto& row_key : row_keys) {
      auto get_task = context_.tables.get(spec_.source, partition_key, row_key);
      auto entity = co_await std::move(get_task);
      if (entity.failed_with(ErrorCode::kTableNotFound)) {
        co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.source + "' does not exist.");
      }
      if (!entity) co_return fail(std::move(entity.error()));
      if (!entity->has_value()) continue;
      // Another operation has moved it here since: it is not what was selected any more.
      if (!spec_.operation.empty() && (*entity)->operation != spec_.operation) continue;
      std::vector<Entity> group;
      group.push_back(std::move(**entity));
      auto move_task = move_group(std::move(group));
      auto rest = co_await std::move(move_task);
      if (!rest) co_return fail(std::move(rest.error()));
      again.insert(again.end(), rest->begin(), rest->end());
    }
    row_keys = std::move(again);
  }
  co_return row_keys.empty();
}

Task<Result<bool>> Mover::blocked(std::string partition_key, std::string row_key) {
  auto task = context_.tables.get(spec_.destination, std::move(partition_key), std::move(row_key));
  auto there = co_await std::move(task);
  if (!there) co_return fail(std::move(there.error()));
  co_return there->has_value() && !(*there)->source_version;
}

Task<Result<void>> Mover::report(bool force) {
  JobProgress progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = spec_.back ? "restoring" : "archiving";
  return pages_.report(std::move(progress), force);
}

}  // namespace

Task<Result<JobOutcome>> run_move(JobContext& context, MoveSpec spec) {
  Mover mover(context, std::move(spec));
  auto task = mover.run();
  auto outcome = co_await std::move(task);
  co_return outcome;
}

}  // namespace tidemark::workers
