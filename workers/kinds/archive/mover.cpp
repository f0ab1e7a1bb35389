#include "workers/kinds/archive/mover.h"

#include <map>
#include <set>

#include "workers/kinds/archive/document_side.h"
#include "workers/kinds/archive/part_side.h"
#include "workers/kinds/archive/table_side.h"
#include "workers/runtime/bulk_job.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;

// An entity that changes between every read and removal is tried this often before its page is read again.
constexpr int kEntityRounds = 8;

Result<std::unique_ptr<Side>> make_object_side(JobContext& context, const jobs::Location& location,
                                               Selected selection) {
  const auto& archive = *location.archive;
  auto filter = TRY(table_store::Filter::parse(selection.filter));
  auto store = TRY(jobs::open_archive(context.objects, context.tables, archive, location.account));
  if (archive.format == jobs::ArchiveFormat::kLines) {
    return std::make_unique<PartSide>(context, std::move(store), archive, std::move(selection), std::move(filter));
  }
  return std::make_unique<DocumentSide>(context, std::move(store), archive, std::move(selection), std::move(filter));
}

Result<std::unique_ptr<Side>> make_side(JobContext& context, const jobs::Location& location, Selected selection,
                                        TableRole role) {
  if (location.archive) return make_object_side(context, location, std::move(selection));
  return std::make_unique<TableSide>(context, std::move(selection), role);
}

std::string_view doing(jobs::Step step) {
  if (step == jobs::Step::kRekey) return "rekeying";
  return step == jobs::Step::kRestore ? "restoring" : "archiving";
}

/// One run of a moving job.
class Mover final : public BulkJob {
 public:
  Mover(JobContext& context, jobs::Reach reach, std::unique_ptr<Side> from, std::unique_ptr<Side> to)
      : BulkJob(context, *from,
                {.entity = reach.selection.entity,
                 .doing = doing(reach.step),
                 .changed = "moved",
                 // Entities that come back from objects are counted when they are put, and erased from the objects
                 // later.
                 .done_when_counted = !reach.from.archive}),
        reach_(std::move(reach)),
        from_(std::move(from)),
        to_(std::move(to)) {}

 private:
  using Keys = std::vector<jobs::EntityKey>;

  Task<Result<bool>> open() override;
  Task<Result<void>> prepare() override;
  Task<Result<void>> resume(json saved) override;
  Task<Result<Page>> read(std::string continuation) override;
  Task<Result<void>> work_on(std::vector<Entity> entities) override;
  Task<Result<void>> missing() override;
  Task<Result<void>> close() override;

  /// Puts a unit and removes it from the source.
  Task<Result<void>> move_unit(Unit unit);
  Task<Result<void>> remove(std::string unit_name, std::vector<Entity> entities);
  struct NotRemoved {
    std::vector<Entity> changed;
    Keys gone;
  };
  Task<Result<void>> remove_group(std::vector<Entity> entities, NotRemoved& left);
  void take_end(PutEnd end, Entity entity, std::vector<Entity>& there);
  Task<Result<void>> remove_page();
  /// Checks once per job that there is something to restore.
  Task<Result<void>> begin_restoring();
  Task<Result<void>> note_units(const std::vector<Unit>& units);
  /// Moves the present versions of the entities in changed_.
  Task<Result<void>> move_changed();
  Task<Result<std::vector<Entity>>> read_changed();
  /// Takes back the copies of entities that are gone from the source though this job has not removed them: they are not
  /// archived. `unheard`: removals of this job that an earlier delivery made and may not have heard of.
  Task<Result<void>> settle_gone(std::uint64_t unheard);
  /// True if the job that removes an entity from the source owns it.
  [[nodiscard]] bool competes() const { return reach_.step != jobs::Step::kRestore && !reach_.from.archive; }
  /// Returns the places where a move of the unit changes tables.
  [[nodiscard]] std::vector<PartitionRef> places_of(const Unit& unit) const;

  jobs::Reach reach_;
  std::unique_ptr<Side> from_;
  std::unique_ptr<Side> to_;
  Keys changed_;                                   // since they were read: they are read and moved again
  std::vector<Entity> page_moved_;                 // entities that were moved, of a source that removes pages
  std::map<std::string, std::vector<Gone>> gone_;  // entities that were gone before they were removed; by unit
  std::map<std::pair<std::string, std::string>, table_store::Version>
      refused_;  // versions that were refused because a newer one is there
  bool found_pending_ = false;
};

Task<Result<bool>> Mover::open() { co_return CO_TRY(co_await from_->open()) || CO_TRY(co_await to_->open()); }

Task<Result<void>> Mover::close() {
  CO_TRY(co_await from_->close());
  co_return co_await to_->close();
}

Task<Result<void>> Mover::prepare() {
  // The job of a single entity creates its destination when it finds it missing.
  if (reach_.selection.entity) co_return Result<void>{};
  co_return co_await to_->prepare();
}

Task<Result<void>> Mover::resume(json saved) {
  if (settled()) co_return Result<void>{};
  if (!saved.is_object()) co_return co_await begin_restoring();
  const auto unheard = done() - std::min(done(), saved.value("doneBefore", std::uint64_t{0}));
  auto pending = CO_TRY(co_await to_->unfinished(saved.value("pending", json::array())));
  found_pending_ = !pending.put.empty() || !pending.gone.empty();
  changed_ = std::move(pending.keys);
  for (auto& unit : pending.put) {
    CO_TRY(co_await remove(std::move(unit.name), std::move(unit.entities)));
  }
  CO_TRY(co_await move_changed());
  if (!changed_.empty()) co_return kept_changing();
  if (!pending.gone.empty()) gone_[""] = std::move(pending.gone);
  co_return co_await settle_gone(unheard);
}

Task<Result<void>> Mover::begin_restoring() {
  const bool all = !reach_.selection.entity && reach_.operation.empty();
  if (!all || !reach_.from.archive) co_return Result<void>{};
  CO_TRY(co_await from_->require_any());
  // A later delivery may find that this one has restored everything.
  co_return co_await note("pending", json::array(), fail_points::kMovePlan);
}

Task<Result<Page>> Mover::read(std::string continuation) {
  auto page = CO_TRY(co_await from_->read(std::move(continuation)));
  while (!page.continuation.empty() && to_->wants_more(page.entities)) {
    CO_TRY(context_.check());
    auto more = CO_TRY(co_await from_->read(std::move(page.continuation)));
    std::move(more.entities.begin(), more.entities.end(), std::back_inserter(page.entities));
    std::move(more.foreign.begin(), more.foreign.end(), std::back_inserter(page.foreign));
    page.continuation = std::move(more.continuation);
  }
  co_return page;
}

Task<Result<void>> Mover::work_on(std::vector<Entity> entities) {
  changed_.clear();
  page_moved_.clear();
  refused_.clear();
  for (const auto& [key, reason] : to_->refuse(entities)) {
    reason.empty() ? pass_over() : skip(reason, key.partition_key, key.row_key);
  }
  if (!entities.empty()) {
    CO_TRY(co_await from_->before_put(entities));
    auto units = to_->units(std::move(entities));
    // The key of a single entity is in the job itself.
    if (!reach_.selection.entity || to_->always_notes()) {
      CO_TRY(co_await note_units(units));
    }
    std::vector<ChangeSet> changes;
    for (auto& unit : units) {
      changes.push_back({unit.entities.size(), places_of(unit),
                         [this, unit = std::move(unit)]() mutable { return move_unit(std::move(unit)); }});
    }
    CO_TRY(co_await make(std::move(changes)));
    CO_TRY(co_await remove_page());
    CO_TRY(co_await move_changed());
    CO_TRY(co_await settle_gone(0));
    if (!changed_.empty()) look_again();
  }
  CO_TRY(co_await from_->finish_page());
  fail_points::kMovePageAfter.reach();
  co_return Result<void>{};
}

Task<Result<void>> Mover::missing() {
  // An earlier delivery put it, and somebody else removed the entity before this job could.
  if (found_pending_) co_return Result<void>{};
  if (reach_.from.archive) {
    CO_TRY(co_await from_->require());
  }
  if (!to_->always_notes()) {
    const auto copy = co_await to_->get(*reach_.selection.entity);
    // Nothing was ever archived: even the table is missing.
    if (!copy && copy.error().code != ErrorCode::kTableNotFound) co_return fail(copy.error());
    if (copy && copy->has_value() && (*copy)->operation == context_.job_id()) {
      if (competes()) gone_[""].push_back({*reach_.selection.entity});
      co_return co_await settle_gone(0);
    }
  }
  co_return co_await BulkJob::missing();
}

Task<Result<void>> Mover::note_units(const std::vector<Unit>& units) {
  if (from_->removes_pages()) co_return Result<void>{};
  co_return co_await note("pending", to_->note(units), fail_points::kMovePlan, {{"doneBefore", done()}});
}

std::vector<PartitionRef> Mover::places_of(const Unit& unit) const {
  std::set<std::pair<std::string, std::string>> partitions;
  for (const auto& entity : unit.entities) {
    partitions.emplace(reach_.from.table, entity.partition_key);
    partitions.emplace(reach_.to.table, to_->renames() ? unit.partition_key : entity.partition_key);
  }
  std::vector<PartitionRef> places;
  for (const auto& [table, partition] : partitions) {
    if (!table.empty()) places.push_back({table, partition});
  }
  return places;
}

Task<Result<void>> Mover::move_unit(Unit unit) {
  CO_TRY(context_.check());
  const auto put = CO_TRY(co_await to_->put(unit));
  if (put.ends.size() != unit.entities.size()) co_return fail(ErrorCode::kInternalError);
  did(put.counted);
  std::vector<Entity> there;
  for (std::size_t i = 0; i < put.ends.size(); ++i) take_end(put.ends[i], std::move(unit.entities[i]), there);
  if (from_->removes_pages()) {
    std::move(there.begin(), there.end(), std::back_inserter(page_moved_));
    co_return Result<void>{};
  }
  co_return co_await remove(std::move(unit.name), std::move(there));
}

void Mover::take_end(PutEnd end, Entity entity, std::vector<Entity>& there) {
  // A newer version of the same archive was restored, so this one is obsolete.
  const bool over = end == PutEnd::kNewerCopy && from_->keeps_versions();
  if (end == PutEnd::kThere || over) {
    there.push_back(std::move(entity));
  } else if (end == PutEnd::kReadAgain) {
    // The source has moved on, unless it still has the version that was refused: then the newer one stays for good.
    auto& refused = refused_[{entity.partition_key, entity.row_key}];
    if (std::exchange(refused, entity.version) == entity.version) return skip(kNewerEntity, entity);
    changed_.push_back({std::move(entity.partition_key), std::move(entity.row_key)});
  } else if (end == PutEnd::kAnothers) {
    skip(kAnotherJob, entity);
  } else {
    skip(reach_.step == jobs::Step::kRestore ? kNewerEntity : kInTheWay, entity);
  }
}

Task<Result<void>> Mover::remove_page() {
  if (page_moved_.empty()) co_return Result<void>{};
  CO_TRY(context_.check());
  CO_TRY(co_await from_->remove(std::exchange(page_moved_, {})));
  co_return Result<void>{};
}

Task<Result<void>> Mover::remove(std::string unit_name, std::vector<Entity> entities) {
  NotRemoved left;
  auto groups = partition_groups(std::move(entities));
  CO_TRY(co_await context_.side_by_side(
      groups.size(), [&](std::size_t number) { return remove_group(std::move(groups[number]), left); }));
  for (auto& key : left.gone) {
    if (competes()) gone_[unit_name].push_back({std::move(key)});
  }
  if (to_->renames()) {
    for (const auto& each : left.changed) gone_[unit_name].push_back({{each.partition_key, each.row_key}, true});
    co_return Result<void>{};
  }
  if (left.changed.empty()) co_return Result<void>{};
  Keys keys;
  for (const auto& entity : left.changed) keys.push_back({entity.partition_key, entity.row_key});
  if (CO_TRY(co_await to_->retract(std::move(unit_name), std::move(left.changed)))) {
    // They are not archived any more, so the page's query decides anew whether they should be.
    look_again();
  } else {
    std::move(keys.begin(), keys.end(), std::back_inserter(changed_));
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::remove_group(std::vector<Entity> entities, NotRemoved& left) {
  CO_TRY(context_.check());
  const auto removed = CO_TRY(co_await from_->remove(entities));
  if (removed.ends.size() != entities.size()) co_return fail(ErrorCode::kInternalError);
  did(removed.counted);
  for (std::size_t i = 0; i < entities.size(); ++i) {
    auto& entity = entities[i];
    if (removed.ends[i] == RemoveEnd::kGone) left.gone.push_back({entity.partition_key, entity.row_key});
    if (removed.ends[i] == RemoveEnd::kChanged) left.changed.push_back(std::move(entity));
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::settle_gone(std::uint64_t unheard) {
  const auto units = std::exchange(gone_, {});
  std::uint64_t gone = 0, changed = 0;
  for (const auto& [name, entities] : units) {
    for (const auto& each : entities) ++(each.changed ? changed : gone);
  }
  // The job was sent back from poison: another job may have relied on this job's copies meanwhile.
  const bool relied_on = context_.was_sent_back() && !to_->renames();
  if (gone + changed == 0 || relied_on) co_return Result<void>{};
  // The ledger counts each removal in its transaction, so it tells whether all of this job's removals are known, even
  // if an answer belonged to the second arrival of a request.
  const auto ledger = CO_TRY(co_await context_.ledger().read_operation(context_.job_id()));
  const auto late = ledger.counter(kDone) - std::min(ledger.counter(kDone), done());
  did(late);
  unheard += late;
  if (unheard >= gone + changed) co_return Result<void>{};
  if (unheard > 0) {
    // Some of the removals were this job's, and nobody knows which: keep two copies rather than none. Entities that are
    // still under their old keys are read again.
    if (gone > unheard) skip_unknown(kPerhapsTwice, gone - unheard);
    if (changed > 0) look_again();
    co_return Result<void>{};
  }
  for (const auto& [name, entities] : units) {
    Keys keys;
    for (const auto& each : entities) keys.push_back(each.key);
    CO_TRY(co_await to_->take_back(name, keys));
    for (const auto& each : entities) {
      each.changed ? look_again() : skip_now(kRemovedMeanwhile, each.key);
    }
  }
  co_return Result<void>{};
}

Task<Result<void>> Mover::move_changed() {
  for (int round = 0; round < kEntityRounds && !changed_.empty(); ++round) {
    auto entities = CO_TRY(co_await read_changed());
    if (entities.empty()) continue;
    auto units = to_->units(std::move(entities));
    if (to_->always_notes()) {
      CO_TRY(co_await note_units(units));
    }
    // The job's limits have already admitted them.
    CO_TRY(co_await context_.side_by_side(units.size(),
                                          [&](std::size_t number) { return move_unit(std::move(units[number])); }));
    CO_TRY(co_await remove_page());
  }
  co_return Result<void>{};
}

Task<Result<std::vector<Entity>>> Mover::read_changed() {
  const auto keys = std::exchange(changed_, {});
  std::vector<std::optional<Entity>> found(keys.size());
  CO_TRY(co_await context_.side_by_side(keys.size(), [&](std::size_t number) -> Task<Result<void>> {
    CO_TRY(context_.check());
    found[number] = CO_TRY(co_await from_->get(keys[number]));
    co_return Result<void>{};
  }));
  std::vector<Entity> entities;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i])
      entities.push_back(std::move(*found[i]));
    else if (competes())
      gone_[""].push_back({keys[i]});
  }
  co_return entities;
}

}  // namespace

Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach) {
  const bool back = reach.step == jobs::Step::kRestore;
  Selected selected{reach.from.table, reach.selection.filter.value_or(""), reach.operation};
  selected.account = reach.from.account;
  selected.noted_bytes = [](const Entity&) { return kNotedVersionBytes; };
  auto from = CO_TRY(make_side(context, reach.from, std::move(selected), {.back = back}));
  // Objects are not counted in the transaction that erases them, so the puts of the restored entities are counted.
  const TableRole role{back, reach.from.archive.has_value(), reach.selection.entity.has_value()};
  auto to = CO_TRY(make_side(context, reach.to, {reach.to.table, "", "", {}, reach.to.account}, role));
  co_return co_await run_move(context, std::move(reach), std::move(from), std::move(to));
}

Task<Result<JobOutcome>> run_move(JobContext& context, jobs::Reach reach, std::unique_ptr<Side> from,
                                  std::unique_ptr<Side> to) {
  co_return co_await run_as<Mover>(context, std::move(reach), std::move(from), std::move(to));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::ArchiveSpec spec) {
  return run_move(context, jobs::seen_from(context.jobs.account(), spec.reach()));
}

Task<Result<JobOutcome>> run(JobContext& context, jobs::UnarchiveSpec spec) {
  return run_move(context, jobs::seen_from(context.jobs.account(), spec.reach()));
}

}  // namespace tidemark::workers
