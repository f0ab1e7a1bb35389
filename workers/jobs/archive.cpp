#include "workers/jobs/archive.h"

#include <set>

#include "common/base/encoding.h"
#include "workers/runtime/fail_points.h"

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

Mutation copy_of(const Entity& entity) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = entity.row_key;
  mutation.properties = entity.properties;
  mutation.source_version = entity.version;
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

/// One run of an archive job. Lives in run_archive's frame.
class Archiver {
 public:
  Archiver(JobContext& context, jobs::ArchiveSpec spec) : context_(context), spec_(std::move(spec)) {}

  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> check_tables();
  Task<Result<void>> archive_one();
  Task<Result<void>> archive_all();
  Task<Result<void>> finish_pending();
  Task<Result<table_store::QueryPage>> read_page();
  Task<Result<void>> plan(std::vector<Entity> entities);
  /// Moves the entities; those that changed meanwhile are read again. True: nothing is left of them in the source
  /// that this job should have moved.
  Task<Result<bool>> move_page(std::vector<Entity> entities);
  /// Moves a group of one partition; returns the row keys to be read again.
  Task<Result<std::vector<std::string>>> move_group(std::vector<Entity> group);
  Task<Result<bool>> redo(std::string partition_key, std::vector<std::string> row_keys);
  /// Whether a newer entity in the destination is one that was put there directly, which archiving must not replace.
  Task<Result<bool>> blocked(std::string partition_key, std::string row_key);
  [[nodiscard]] json checkpoint(json pending) const {
    return {{"continuation", continuation_}, {"pending", std::move(pending)}, {"skipped", skipped_}};
  }
  Task<Result<void>> report();

  JobContext& context_;
  jobs::ArchiveSpec spec_;
  std::string continuation_;
  std::uint32_t page_size_ = kArchivePageEntities;
  std::uint64_t done_ = 0;
  std::uint64_t skipped_ = 0;
  std::set<std::pair<std::string, std::string>> page_skips_;  // of the page at hand; counted when it is finished
};

Task<Result<JobOutcome>> Archiver::run() {
  auto open_task = context_.open();
  auto ledger = co_await std::move(open_task);
  if (!ledger) co_return fail(std::move(ledger.error()));
  const auto& saved = context_.checkpoint();
  if (saved.is_object()) {
    continuation_ = saved.value("continuation", std::string());
    skipped_ = saved.value("skipped", std::uint64_t{0});
  }
  done_ = ledger->counter(kDone);
  if (!ledger->closed) {
    auto tables_task = check_tables();
    auto tables = co_await std::move(tables_task);
    if (!tables) co_return fail(std::move(tables.error()));
    auto work_task = spec_.entity ? archive_one() : archive_all();
    auto worked = co_await std::move(work_task);
    if (!worked) co_return fail(std::move(worked.error()));
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    auto close_task = context_.close();
    ledger = co_await std::move(close_task);
    if (!ledger) co_return fail(std::move(ledger.error()));
  }
  JobOutcome outcome;
  outcome.done = ledger->counter(kDone);
  outcome.skipped = spec_.entity ? ledger->counter(kSkipped) : skipped_;
  outcome.total = *outcome.done + *outcome.skipped;
  co_return outcome;
}

Task<Result<void>> Archiver::check_tables() {
  auto exists_task = context_.tables.table_exists(spec_.source);
  auto exists = co_await std::move(exists_task);
  if (!exists) co_return fail(std::move(exists.error()));
  if (!*exists) co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.source + "' does not exist.");
  auto create_task = context_.tables.create_table(spec_.destination);
  auto created = co_await std::move(create_task);
  if (!created && created.error().code != ErrorCode::kTableAlreadyExists) co_return fail(std::move(created.error()));
  co_return Result<void>{};
}

Task<Result<void>> Archiver::archive_one() {
  const auto& key = *spec_.entity;
  std::vector<std::string> rows{key.row_key};
  auto redo_task = redo(key.partition_key, std::move(rows));
  auto moved = co_await std::move(redo_task);
  if (!moved) co_return fail(std::move(moved.error()));
  if (!*moved) co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The entity kept changing while it was moved.");

  auto ledger_task = context_.tables.read_operation(context_.job_id());
  auto ledger = co_await std::move(ledger_task);
  if (!ledger) co_return fail(std::move(ledger.error()));
  if (ledger->counter(kDone) > 0 || ledger->counter(kSkipped) > 0) co_return Result<void>{};
  auto copy_task = context_.tables.get(spec_.destination, key.partition_key, key.row_key);
  auto copy = co_await std::move(copy_task);
  if (!copy) co_return fail(std::move(copy.error()));
  const bool archived = copy->has_value() && (*copy)->source_version && page_skips_.empty();
  if (archived) co_return Result<void>{};
  // Neither here nor there, or in the way: an outcome, not a failure.
  auto count_task = context_.tables.count(context_.fence(std::string(kSkipped)), 1);
  auto counted = co_await std::move(count_task);
  if (!counted) co_return fail(std::move(counted.error()));
  co_return Result<void>{};
}

Task<Result<void>> Archiver::archive_all() {
  auto pending_task = finish_pending();
  auto finished = co_await std::move(pending_task);
  if (!finished) co_return fail(std::move(finished.error()));
  int passes = 0;
  while (true) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    page_skips_.clear();
    auto page_task = read_page();
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
    fail_points::kArchivePageAfter.reach();
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
    skipped_ += page_skips_.size();
    continuation_ = page->continuation;
    if (continuation_.empty()) break;
    context_.save(checkpoint(json::array()));
    auto report_task = report();
    auto reported = co_await std::move(report_task);
    if (!reported) co_return fail(std::move(reported.error()));
  }
  co_return Result<void>{};
}

Task<Result<void>> Archiver::finish_pending() {
  const auto& saved = context_.checkpoint();
  if (!saved.is_object()) co_return Result<void>{};
  const auto pending = saved.value("pending", json::array());
  for (const auto& key : pending) {
    if (!key.is_array() || key.size() != 2 || !key[0].is_string() || !key[1].is_string()) continue;
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    const auto partition_key = key[0].get<std::string>();
    const auto row_key = key[1].get<std::string>();
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

Task<Result<table_store::QueryPage>> Archiver::read_page() {
  while (true) {
    table_store::QueryRequest request;
    request.table = spec_.source;
    request.filter = spec_.filter.value_or("");
    request.top = page_size_;
    request.continuation = continuation_;
    auto task = context_.tables.query(std::move(request));
    auto page = co_await std::move(task);
    if (!page) co_return page;
    std::size_t key_bytes = 0;
    for (const auto& entity : page->entities) key_bytes += entity.partition_key.size() + entity.row_key.size() + 8;
    // Long keys make smaller pages: the note of a page must fit into the message.
    if (key_bytes <= kArchivePendingBytes || page_size_ == 1) co_return page;
    page_size_ = std::max(1U, page_size_ / 2);
  }
}

Task<Result<void>> Archiver::plan(std::vector<Entity> entities) {
  json pending = json::array();
  for (const auto& entity : entities) pending.push_back(json::array({entity.partition_key, entity.row_key}));
  fail_points::kArchivePlan.before.reach();
  auto task = context_.save_now(checkpoint(std::move(pending)));
  auto saved = co_await std::move(task);
  fail_points::kArchivePlan.after.reach();
  co_return saved;
}

Task<Result<bool>> Archiver::move_page(std::vector<Entity> entities) {
  bool clean = true;
  for (const auto& [begin, end] : archive_groups(entities)) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    const auto first = entities.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = entities.begin() + static_cast<std::ptrdiff_t>(end);
    std::vector<Entity> group(std::make_move_iterator(first), std::make_move_iterator(last));
    const auto partition_key = group.front().partition_key;
    auto move_task = move_group(std::move(group));
    auto again = co_await std::move(move_task);
    if (!again) co_return fail(std::move(again.error()));
    if (!again->empty()) {
      auto redo_task = redo(partition_key, std::move(*again));
      auto moved = co_await std::move(redo_task);
      if (!moved) co_return fail(std::move(moved.error()));
      clean = clean && *moved;
    }
    auto report_task = report();
    auto reported = co_await std::move(report_task);
    if (!reported) co_return fail(std::move(reported.error()));
  }
  co_return clean;
}

Task<Result<std::vector<std::string>>> Archiver::move_group(std::vector<Entity> group) {
  std::vector<std::string> again;
  const auto partition_key = group.front().partition_key;
  std::vector<Mutation> copies;
  for (const auto& entity : group) copies.push_back(copy_of(entity));
  fail_points::kArchiveCopy.before.reach();
  auto copy_task =
      context_.tables.mutate(spec_.destination, partition_key, std::move(copies), context_.fence(std::string()));
  auto copied = co_await std::move(copy_task);
  fail_points::kArchiveCopy.after.reach();
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
    // Something newer is there. A newer archived copy means that the source has moved on: read it again.
    auto blocked_task = blocked(partition_key, group[i].row_key);
    auto in_the_way = co_await std::move(blocked_task);
    if (!in_the_way) co_return fail(std::move(in_the_way.error()));
    if (*in_the_way) {
      page_skips_.emplace(partition_key, group[i].row_key);
    } else {
      again.push_back(group[i].row_key);
    }
  }
  if (removals.empty()) co_return again;

  auto going = context_.check();
  if (!going) co_return fail(std::move(going.error()));
  fail_points::kArchiveErase.before.reach();
  auto erase_task =
      context_.tables.mutate(spec_.source, partition_key, std::move(removals), context_.fence(std::string(kDone)));
  auto erased = co_await std::move(erase_task);
  fail_points::kArchiveErase.after.reach();
  if (!erased) co_return fail(std::move(erased.error()));
  if (erased->size() != removed_rows.size()) co_return fail(ErrorCode::kInternalError);
  for (std::size_t i = 0; i < removed_rows.size(); ++i) {
    if ((*erased)[i].kind == OutcomeKind::kApplied) ++done_;
    if ((*erased)[i].kind == OutcomeKind::kConflict) again.push_back(removed_rows[i]);
  }
  co_return again;
}

Task<Result<bool>> Archiver::redo(std::string partition_key, std::vector<std::string> row_keys) {
  for (int round = 0; round < kEntityRounds && !row_keys.empty(); ++round) {
    auto going = context_.check();
    if (!going) co_return fail(std::move(going.error()));
    std::vector<std::string> again;
    for (const auto& row_key : row_keys) {
      auto get_task = context_.tables.get(spec_.source, partition_key, row_key);
      auto entity = co_await std::move(get_task);
      if (!entity) co_return fail(std::move(entity.error()));
      if (!entity->has_value()) continue;
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

Task<Result<bool>> Archiver::blocked(std::string partition_key, std::string row_key) {
  auto task = context_.tables.get(spec_.destination, std::move(partition_key), std::move(row_key));
  auto there = co_await std::move(task);
  if (!there) co_return fail(std::move(there.error()));
  co_return there->has_value() && !(*there)->source_version;
}

Task<Result<void>> Archiver::report() {
  JobProgress progress;
  progress.done = done_;
  progress.skipped = skipped_;
  progress.phase = "archiving";
  auto task = context_.report(std::move(progress), false);
  auto reported = co_await std::move(task);
  if (!reported) co_return fail(std::move(reported.error()));
  co_return Result<void>{};
}

}  // namespace

std::size_t entity_bytes(const Entity& entity) {
  std::size_t bytes = 64 + entity.partition_key.size() + entity.row_key.size();
  for (const auto& property : entity.properties) {
    bytes += property.name.size() + 16;
    if (const auto* text = std::get_if<std::string>(&property.value)) bytes += text->size();
    if (const auto* binary = std::get_if<table_store::Binary>(&property.value)) bytes += binary->bytes.size();
  }
  return bytes;
}

std::vector<std::pair<std::size_t, std::size_t>> archive_groups(const std::vector<Entity>& entities) {
  std::vector<std::pair<std::size_t, std::size_t>> groups;
  std::size_t begin = 0;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < entities.size(); ++i) {
    const auto size = entity_bytes(entities[i]);
    const bool full = i - begin == kGroupEntities || bytes + size > kGroupBytes ||
                      entities[i].partition_key != entities[begin].partition_key;
    if (i > begin && full) {
      groups.emplace_back(begin, i);
      begin = i;
      bytes = 0;
    }
    bytes += size;
  }
  if (begin < entities.size()) groups.emplace_back(begin, entities.size());
  return groups;
}

Task<Result<JobOutcome>> run_archive(JobContext& context, jobs::ArchiveSpec spec) {
  Archiver archiver(context, std::move(spec));
  auto task = archiver.run();
  auto outcome = co_await std::move(task);
  co_return outcome;
}

}  // namespace tidemark::workers
