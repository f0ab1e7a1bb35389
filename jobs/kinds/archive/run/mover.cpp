#include "jobs/kinds/archive/run/mover.h"

#include <set>

#include "jobs/kinds/archive/run/make_place.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/run_as.h"
#include "workers/runtime/side_by_side.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::OperationLedger;

constexpr std::string_view kSkipped = "skipped";
// An entity that changes between every read and removal is tried this often in its page, and the page this often.
constexpr int kEntityRounds = 8;
constexpr int kPagePasses = 10;
constexpr std::string_view kInTheWay = "another entity is in the way";
constexpr std::string_view kNewerThere = "a newer entity is there";
constexpr std::string_view kMissing = "not found";
constexpr std::string_view kForeign = "not an archived entity";

std::unexpected<Error> kept_changing() {
  return fail(ErrorCode::kUpdateConditionNotSatisfied, "Some entities kept changing while they were moved.");
}

/// One run of a moving job. Lives in run_move's frame.
class Mover {
 public:
  Mover(JobContext& context, MoveSpec spec, Sides sides)
      : context_(context), spec_(std::move(spec)), from_(std::move(sides.from)), to_(std::move(sides.to)) {}

  Task<Result<JobOutcome>> run();

 private:
  /// Whether the work was completed before.
  Task<Result<bool>> open_places();
  Task<Result<void>> close_places();
  Task<Result<void>> work(std::uint64_t done_before);
  Task<Result<void>> check_places();
  Task<Result<void>> move_one();
  /// For an entity that this delivery found nothing of: whether an earlier one, or nobody, has moved it.
  Task<Result<void>> account_for_one();
  Task<Result<void>> move_all();
  Task<Result<void>> finish_pending();
  Task<Result<PlacePage>> read_page();
  /// Moves the entities; those that changed meanwhile are read again. True: nothing is left of them in the source
  /// that this job should have moved.
  Task<Result<bool>> move_page(std::vector<Entity> entities);
  Task<Result<void>> note(const std::vector<Unit>& units);
  /// Returns the keys to be read again. Only what is `admitted` has met the job's limits before.
  Task<Result<std::vector<jobs::EntityKey>>> move_units(std::vector<Unit> units, bool admitted);
  Task<Result<void>> admit_and_move(Unit unit, std::vector<jobs::EntityKey>& again);
  Task<Result<void>> move_collecting(Unit unit, std::vector<jobs::EntityKey>& again);
  /// Puts a unit and removes it from the source; returns the keys to be read again.
  Task<Result<std::vector<jobs::EntityKey>>> move_unit(Unit unit);
  Task<Result<std::vector<jobs::EntityKey>>> remove(std::string unit_name, std::vector<Entity> entities);
  Task<Result<void>> remove_cut(std::vector<Entity> entities, std::vector<Entity>& changed);
  Task<Result<void>> remove_page();
  /// Moves what is at these keys by now; true: nothing is left to be moved again.
  Task<Result<bool>> redo(std::vector<jobs::EntityKey> keys);
  /// Once; returns the keys to be read again.
  Task<Result<std::vector<jobs::EntityKey>>> redo_once(std::vector<jobs::EntityKey> keys);
  Task<Result<std::vector<Entity>>> read_again(std::vector<jobs::EntityKey> keys);
  Task<Result<void>> read_one(jobs::EntityKey key, std::optional<Entity>& into);
  [[nodiscard]] json checkpoint(json pending) const {
    return {{"continuation", continuation_}, {"pending", std::move(pending)}, {"skips", skips_.to_json()}};
  }
  /// Where a move of these partitions changes something in tables.
  [[nodiscard]] std::vector<Place> changed_places(const std::set<std::string>& partitions) const {
    std::vector<Place> out;
    for (const auto* table : {&spec_.source, &spec_.destination}) {
      if (table->empty()) continue;
      for (const auto& partition : partitions) out.push_back({*table, partition});
    }
    return out;
  }
  Task<Result<void>> report(bool force);

  JobContext& context_;
  MoveSpec spec_;
  std::unique_ptr<Side> from_;
  std::unique_ptr<Side> to_;
  std::string continuation_;
  std::uint64_t done_ = 0;
  SkipLog skips_;
  std::uint64_t under_way_ = 0;  // entities of units that are being moved
  bool retracted_ = false;       // something was put and taken back
  bool found_pending_ = false;
  SkipLog page_skips_;              // of the page at hand; counted when it is finished
  std::vector<Entity> page_moved_;  // of a source that removes pages
};

Task<Result<JobOutcome>> Mover::run() {
  const auto& saved = context_.checkpoint();
  if (saved.is_object()) {
    continuation_ = saved.value("continuation", std::string());
    skips_ = SkipLog::from_json(saved.value("skips", json::array()));
  }
  JobContext::Work doing = [this](const OperationLedger& before) { return work(before.counter(kDone)); };
  auto ledger = CO_TRY(co_await context_.complete(std::move(doing)));
  JobOutcome outcome;
  outcome.done = ledger.counter(kDone);
  if (spec_.entity) {
    outcome.skipped = ledger.counter(kSkipped);
    outcome.skips = skips_.text();
  }
  co_return outcome;
}

Task<Result<void>> Mover::work(std::uint64_t done_before) {
  done_ = done_before;
  auto over = CO_TRY(co_await open_places());
  if (over) co_return Result<void>{};
  if (!spec_.entity) {
    CO_TRY(co_await check_places());
  }
  CO_TRY(co_await (spec_.entity ? move_one() : move_all()));
  // The figures are in the record before the operation closes: nobody could count the skips again afterwards.
  if (!spec_.entity) {
    CO_TRY(co_await report(true));
  }
  CO_TRY(context_.check());
  co_return co_await close_places();
}

Task<Result<bool>> Mover::open_places() {
  for (auto* place : {from_.get(), to_.get()}) {
    auto over = co_await place->open();
    if (!over || *over) co_return over;
  }
  co_return false;
}

Task<Result<void>> Mover::close_places() {
  for (auto* place : {from_.get(), to_.get()}) {
    CO_TRY(co_await place->close());
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::check_places() {
  CO_TRY(co_await from_->require());
  co_return co_await to_->prepare();
}

Task<Result<void>> Mover::move_one() {
  const bool counted_when_removed = !(spec_.archive && spec_.back);
  // Moved by an earlier delivery: what is there by now is another entity.
  if (done_ > 0 && counted_when_removed) co_return Result<void>{};
  CO_TRY(co_await finish_pending());
  if (done_ > 0 && counted_when_removed) co_return Result<void>{};
  const auto permit = CO_TRY(co_await context_.admit(0, 1, changed_places({spec_.entity->partition_key})));
  std::vector<jobs::EntityKey> keys{*spec_.entity};
  auto moved = CO_TRY(co_await redo(std::move(keys)));
  if (!moved) co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The entity kept changing while it was moved.");
  if (done_ > 0 || found_pending_) co_return Result<void>{};
  co_return co_await account_for_one();
}

Task<Result<void>> Mover::account_for_one() {
  const auto& key = *spec_.entity;
  auto ledger = CO_TRY(co_await context_.tables.read_operation(context_.job_id()));
  if (ledger.counter(kDone) > 0 || ledger.counter(kSkipped) > 0) co_return Result<void>{};
  if (page_skips_.count() == 0 && !to_->always_notes()) {
    auto copy = co_await to_->get(key);
    // Nothing was ever archived, not even the table is there.
    const bool no_table = copy.failed_with(ErrorCode::kTableNotFound);
    if (!copy && !no_table) co_return fail(std::move(copy.error()));
    // Put by an earlier delivery, and its owner removed the entity before this job could.
    if (!no_table && copy->has_value() && (*copy)->operation == context_.job_id()) co_return Result<void>{};
  }
  // Neither here nor there, or in the way: an outcome, not a failure.
  if (page_skips_.count() == 0) page_skips_.add(kMissing, key.partition_key, key.row_key);
  skips_.add(page_skips_);
  CO_TRY(co_await context_.tables.count(context_.fence(std::string(kSkipped)), 1));
  co_return Result<void>{};
}

Task<Result<void>> Mover::move_all() {
  CO_TRY(co_await from_->begin(continuation_, done_ + skips_.count()));
  CO_TRY(co_await finish_pending());
  int passes = 0;
  while (true) {
    CO_TRY(context_.check());
    page_skips_.clear();
    auto page = CO_TRY(co_await read_page());
    for (const auto& name : page.foreign) page_skips_.add(kForeign, name, "");
    bool clean = true;
    if (!page.entities.empty()) {
      clean = CO_TRY(co_await move_page(std::move(page.entities)));
    }
    CO_TRY(co_await from_->finish_page());
    fail_points::kMovePageAfter.reach();
    if (!clean) {
      // The cursor never passes unfinished work: the same page again, a little later.
      if (++passes >= kPagePasses) co_return kept_changing();
      const auto pause = Duration(static_cast<std::int64_t>(context_.random.below(2'000'000)));
      co_await sleep_for(context_.clock, pause);
      continue;
    }
    passes = 0;
    skips_.add(page_skips_);
    continuation_ = page.continuation;
    if (continuation_.empty()) break;
    CO_TRY(co_await report(false));
    context_.save(checkpoint(json::array()));
  }
  co_return Result<void>{};
}

Task<Result<PlacePage>> Mover::read_page() {
  auto page = CO_TRY(co_await from_->read(continuation_));
  while (!page.continuation.empty() && to_->wants_more(page.entities)) {
    CO_TRY(context_.check());
    auto more = CO_TRY(co_await from_->read(page.continuation));
    page.entities.insert(page.entities.end(), std::make_move_iterator(more.entities.begin()),
                         std::make_move_iterator(more.entities.end()));
    page.foreign.insert(page.foreign.end(), more.foreign.begin(), more.foreign.end());
    page.continuation = std::move(more.continuation);
  }
  co_return page;
}

Task<Result<void>> Mover::finish_pending() {
  const auto& saved = context_.checkpoint();
  if (!saved.is_object()) co_return Result<void>{};
  auto pending = CO_TRY(co_await to_->unfinished(saved.value("pending", json::array())));
  found_pending_ = !pending.put.empty();
  for (auto& unit : pending.put) {
    auto again = CO_TRY(co_await remove(std::move(unit.name), std::move(unit.entities)));
    pending.keys.insert(pending.keys.end(), again.begin(), again.end());
  }
  auto moved = CO_TRY(co_await redo(std::move(pending.keys)));
  if (!moved) co_return kept_changing();
  co_return Result<void>{};
}

Task<Result<void>> Mover::note(const std::vector<Unit>& units) {
  if (from_->removes_pages()) co_return Result<void>{};
  auto pending = to_->note(units);
  fail_points::kMovePlan.before.reach();
  auto saved = co_await context_.save_now(checkpoint(std::move(pending)));
  fail_points::kMovePlan.after.reach();
  co_return saved;
}

Task<Result<bool>> Mover::move_page(std::vector<Entity> entities) {
  retracted_ = false;
  page_moved_.clear();
  auto units = to_->units(std::move(entities));
  CO_TRY(co_await note(units));
  auto again = CO_TRY(co_await move_units(std::move(units), false));
  auto redone = CO_TRY(co_await redo(std::move(again)));
  co_return redone && !retracted_;
}

Task<Result<std::vector<jobs::EntityKey>>> Mover::move_units(std::vector<Unit> units, bool admitted) {
  std::vector<jobs::EntityKey> again;
  CO_TRY(co_await side_by_side(context_.clock, units.size(), [&](std::size_t number) {
    auto& unit = units[number];
    return admitted ? move_collecting(std::move(unit), again) : admit_and_move(std::move(unit), again);
  }));
  CO_TRY(co_await remove_page());
  co_return again;
}

Task<Result<void>> Mover::remove_page() {
  if (page_moved_.empty()) co_return Result<void>{};
  auto moved = std::move(page_moved_);
  page_moved_.clear();
  CO_TRY(context_.check());
  CO_TRY(co_await from_->remove(std::move(moved)));
  co_return Result<void>{};
}

Task<Result<void>> Mover::admit_and_move(Unit unit, std::vector<jobs::EntityKey>& again) {
  CO_TRY(context_.check());
  const auto count = unit.entities.size();
  std::set<std::string> partitions;
  for (const auto& entity : unit.entities) partitions.insert(entity.partition_key);
  auto admit_task = context_.admit(done_ + under_way_, count, changed_places(partitions));
  under_way_ += count;
  const auto permit = CO_TRY(co_await std::move(admit_task));
  auto moved = co_await move_collecting(std::move(unit), again);
  under_way_ -= count;
  if (!moved) co_return moved;
  co_return co_await report(false);
}

Task<Result<void>> Mover::move_collecting(Unit unit, std::vector<jobs::EntityKey>& again) {
  CO_TRY(context_.check());
  auto rest = CO_TRY(co_await move_unit(std::move(unit)));
  again.insert(again.end(), std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  co_return Result<void>{};
}

Task<Result<std::vector<jobs::EntityKey>>> Mover::move_unit(Unit unit) {
  std::vector<jobs::EntityKey> again;
  auto put = CO_TRY(co_await to_->put(unit));
  if (put.ends.size() != unit.entities.size()) co_return fail(ErrorCode::kInternalError);
  done_ += put.counted;
  std::vector<Entity> there;
  for (std::size_t i = 0; i < unit.entities.size(); ++i) {
    auto& entity = unit.entities[i];
    switch (put.ends[i]) {
      case PutEnd::kThere:
        there.push_back(std::move(entity));
        break;
      case PutEnd::kReadAgain:
        again.push_back({entity.partition_key, entity.row_key});
        break;
      case PutEnd::kNewerCopy:
        // A newer version of the same archive was restored: this one is over.
        if (from_->keeps_versions()) {
          there.push_back(std::move(entity));
        } else {
          page_skips_.add(kNewerThere, entity.partition_key, entity.row_key);
        }
        break;
      case PutEnd::kInTheWay:
        page_skips_.add(spec_.back ? kNewerThere : kInTheWay, entity.partition_key, entity.row_key);
        break;
    }
  }
  if (from_->removes_pages()) {
    page_moved_.insert(page_moved_.end(), std::make_move_iterator(there.begin()), std::make_move_iterator(there.end()));
    co_return again;
  }
  auto changed = CO_TRY(co_await remove(std::move(unit.name), std::move(there)));
  again.insert(again.end(), changed.begin(), changed.end());
  co_return again;
}

Task<Result<std::vector<jobs::EntityKey>>> Mover::remove(std::string unit_name, std::vector<Entity> entities) {
  std::vector<jobs::EntityKey> again;
  std::vector<Entity> changed;
  const auto cuts = from_->cuts(entities);
  auto groups = cut_up(std::move(entities), cuts);
  CO_TRY(co_await side_by_side(context_.clock, groups.size(),
                               [&](std::size_t number) { return remove_cut(std::move(groups[number]), changed); }));
  if (changed.empty()) co_return again;
  for (const auto& entity : changed) again.push_back({entity.partition_key, entity.row_key});
  auto retracted = CO_TRY(co_await to_->retract(std::move(unit_name), std::move(changed)));
  if (retracted) {
    // Not archived any more, so the page's query decides anew whether they should be.
    retracted_ = true;
    again.clear();
  }
  co_return again;
}

Task<Result<void>> Mover::remove_cut(std::vector<Entity> entities, std::vector<Entity>& changed) {
  CO_TRY(context_.check());
  auto removed = CO_TRY(co_await from_->remove(entities));
  if (removed.ends.size() != entities.size()) co_return fail(ErrorCode::kInternalError);
  done_ += removed.counted;
  for (std::size_t i = 0; i < entities.size(); ++i) {
    if (removed.ends[i] == RemoveEnd::kChanged) changed.push_back(std::move(entities[i]));
  }
  co_return Result<void>{};
}

Task<Result<bool>> Mover::redo(std::vector<jobs::EntityKey> keys) {
  for (int round = 0; round < kEntityRounds && !keys.empty(); ++round) {
    keys = CO_TRY(co_await redo_once(std::move(keys)));
  }
  co_return keys.empty();
}

Task<Result<std::vector<jobs::EntityKey>>> Mover::redo_once(std::vector<jobs::EntityKey> keys) {
  auto entities = CO_TRY(co_await read_again(std::move(keys)));
  if (entities.empty()) co_return std::vector<jobs::EntityKey>();
  auto units = to_->units(std::move(entities));
  if (to_->always_notes()) {
    CO_TRY(co_await note(units));
  }
  if (spec_.entity) retracted_ = false;
  auto again = co_await move_units(std::move(units), true);
  // Retracted: a single entity has no page to be read again with.
  if (again && spec_.entity && retracted_) again->push_back(*spec_.entity);
  co_return again;
}

Task<Result<std::vector<Entity>>> Mover::read_again(std::vector<jobs::EntityKey> keys) {
  std::vector<std::optional<Entity>> found(keys.size());
  CO_TRY(co_await side_by_side(context_.clock, keys.size(),
                               [&](std::size_t number) { return read_one(keys[number], found[number]); }));
  std::vector<Entity> entities;
  for (auto& entity : found) {
    if (entity) entities.push_back(std::move(*entity));
  }
  co_return entities;
}

Task<Result<void>> Mover::read_one(jobs::EntityKey key, std::optional<Entity>& into) {
  CO_TRY(context_.check());
  auto entity = co_await from_->get(std::move(key));
  if (entity.failed_with(ErrorCode::kTableNotFound)) {
    co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.source + "' does not exist.");
  }
  if (!entity) co_return fail(std::move(entity.error()));
  into = std::move(*entity);
  co_return Result<void>{};
}

Task<Result<void>> Mover::report(bool force) {
  JobProgress progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = spec_.back ? "restoring" : "archiving";
  return from_->report(std::move(progress), force);
}

}  // namespace

Task<Result<JobOutcome>> run_move(JobContext& context, MoveSpec spec) {
  auto sides = CO_TRY(make_sides(context, spec));
  co_return co_await run_as<Mover>(context, std::move(spec), std::move(sides));
}

}  // namespace tidemark::workers
