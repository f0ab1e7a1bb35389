#include "jobs/kinds/index/index.h"

#include <set>

#include "common/base/json.h"
#include "indexes/rows/list_piece.h"
#include "jobs/spec/key_template.h"
#include "jobs/spec/names.h"
#include "workers/indexes/build_claims.h"
#include "workers/indexes/change_reader.h"
#include "workers/indexes/index_kinds.h"
#include "workers/indexes/row_writer.h"
#include "workers/indexes/source_walk.h"
#include "workers/runtime/fail_points.h"
#include "workers/runtime/skip_log.h"

namespace tidemark::workers {
namespace {

using nlohmann::json;
using table_store::QueryRequest;

constexpr std::string_view kNoValue = "the property is missing";
/// The table may change too fast for its log this many times before the job gives up.
constexpr int kBeginnings = 10;
constexpr std::size_t kMostAtOnce = 50'000;
constexpr std::uint32_t kPiecesAtOnce = 100;  // pieces are large

enum class Stage : std::uint8_t { kTable, kRows, kLastChanges, kDone };
constexpr jobs::Names<Stage, 4> kStages{
    {{Stage::kTable, "table"}, {Stage::kRows, "rows"}, {Stage::kLastChanges, "changes"}, {Stage::kDone, "done"}}};

/// One run of an index job.
class IndexBuild {
 public:
  IndexBuild(JobContext& context, jobs::IndexSpec spec) : context_(context), spec_(std::move(spec)) {
    index_.id = build_name(spec_.destination);
    index_.definition.source = spec_.source;
    indexes::ListsKind lists;
    lists.by = {spec_.property};
    lists.destination = spec_.destination;
    index_.definition.kind = std::move(lists);
  }
  Task<Result<JobOutcome>> run();

 private:
  Task<Result<void>> build();
  Task<Result<void>> begin();
  Task<Result<void>> follow(bool anew);
  Task<Result<bool>> is_followed();
  Task<Result<void>> walk();
  /// Processes all changes so far; false if some of the changes are lost.
  Task<Result<bool>> catch_up();
  Task<Result<void>> walk_table();
  Task<Result<void>> walk_rows();
  Task<Result<void>> reconcile(std::vector<ChangedEntity> entities);
  Task<Result<void>> remove_older_form();
  std::uint64_t count(const std::vector<ChangedEntity>& entities);
  IndexRowsContext rows_context() { return {context_.tables, context_.clock, index_, *fences_}; }
  void read_checkpoint();
  void save();
  Task<Result<void>> report(bool force);

  JobContext& context_;
  jobs::IndexSpec spec_;
  indexes::Index index_;
  std::optional<Fences> fences_;
  std::unique_ptr<IndexRows> rows_;
  Stage stage_ = Stage::kTable;
  std::string continuation_;  // of the current walk
  std::uint64_t done_ = 0;
  SkipLog skips_;
  table_store::Position position_;
  table_store::NotesRead skip_;  // for the page at the position (ChangesPage)
  JobOutcome outcome_;           // empty if an earlier delivery has written and reported everything
};

Task<Result<JobOutcome>> IndexBuild::run() {
  JobContext::Work work = [this](const table_store::OperationLedger&) { return build(); };
  CO_TRY(co_await context_.complete(std::move(work)));
  co_return std::move(outcome_);
}

Task<Result<void>> IndexBuild::build() {
  read_checkpoint();
  if (stage_ != Stage::kDone) {
    CO_TRY(co_await begin());
    CO_TRY(co_await walk());
  }
  // The figures are in the record before the operation closes: they could not be counted again afterwards.
  CO_TRY(co_await report(true));
  outcome_.done = done_;
  outcome_.skipped = skips_.count();
  outcome_.skips = skips_.text();
  outcome_.total = done_ + skips_.count();
  co_return co_await release_build(context_, spec_.source, spec_.destination);
}

Task<Result<void>> IndexBuild::begin() {
  if (!CO_TRY(co_await context_.tables.table_exists(spec_.source))) {
    co_return fail(ErrorCode::kTableNotFound, "The source table '" + spec_.source + "' does not exist.");
  }
  CO_TRY(co_await jobs::ensure_table(context_.tables, spec_.destination));
  fences_ = CO_TRY(co_await claim_build(context_, spec_.source, spec_.destination));
  rows_ = make_job_rows(rows_context());
  const bool resumes = context_.checkpoint().is_object() && CO_TRY(co_await is_followed());
  if (!resumes) CO_TRY(co_await remove_older_form());
  co_return co_await follow(!resumes);
}

Task<Result<bool>> IndexBuild::is_followed() {
  const auto followers = CO_TRY(co_await context_.tables.followers(spec_.source));
  co_return std::ranges::any_of(followers, [&](const auto& status) { return status.following.follower == index_.id; });
}

Task<Result<void>> IndexBuild::follow(bool anew) {
  table_store::Following following{.follower = index_.id, .properties = {spec_.property}};
  auto followed = follow_log(context_.tables, spec_.source, std::move(following), anew, fences_->next());
  position_ = CO_TRY(co_await fail_points::kIndexFollow.around(std::move(followed))).position;
  skip_ = {};
  if (!anew) co_return Result<void>{};
  stage_ = Stage::kTable;
  continuation_.clear();
  done_ = 0;
  skips_.clear();
  co_return Result<void>{};
}

/// Processes the changes before each page of a walk, so that a page is never older than the rows.
Task<Result<void>> IndexBuild::walk() {
  for (int beginnings = 1; stage_ != Stage::kDone;) {
    CO_TRY(context_.check());
    const bool last = stage_ == Stage::kLastChanges;
    if (!CO_TRY(co_await catch_up())) {
      if (++beginnings > kBeginnings) {
        co_return fail(ErrorCode::kUpdateConditionNotSatisfied, "The table kept changing too fast for its index.");
      }
      CO_TRY(co_await follow(true));
      continue;
    }
    if (last && stage_ == Stage::kLastChanges) {
      stage_ = Stage::kDone;
      save();
      break;
    }
    CO_TRY(co_await (stage_ == Stage::kTable ? walk_table() : walk_rows()));
    CO_TRY(co_await report(false));
    save();
    fail_points::kIndexPageAfter.reach();
  }
  co_return Result<void>{};
}

Task<Result<bool>> IndexBuild::catch_up() {
  std::optional<table_store::Position> until;
  while (true) {
    auto answer = co_await context_.tables.changed_entities(spec_.source, index_.id, position_, skip_,
                                                            table_store::kMaxChangedEntities, Duration::zero(),
                                                            index_.definition.row_properties());
    // The follower was taken for that of an ended job and removed; the job was sent back from poison since.
    if (answer.failed_with(ErrorCode::kFollowerNotFound)) co_return false;
    auto page = CO_TRY(std::move(answer));
    if (page.stale) co_return false;
    until = until.value_or(page.as_of);
    CO_TRY(co_await reconcile(std::move(page.entities)));
    std::ignore = rows_->take_in_the_way();
    // The table was dropped: the walk of the rows, which starts anew here, finds the rows of its entities.
    if (page.dropped && stage_ != Stage::kTable) {
      stage_ = Stage::kRows;
      continuation_.clear();
    }
    const bool moved = position_ != page.through;
    position_ = page.through;
    skip_ = page.skip;
    if (moved) {
      const auto told = co_await context_.tables.acknowledge(spec_.source, index_.id, position_);
      if (told.failed_with(ErrorCode::kFollowerNotFound)) co_return false;
      CO_TRY(told);
    }
    if (!page.more || position_ >= *until) co_return true;
    CO_TRY(context_.check());
  }
}

Task<Result<void>> IndexBuild::walk_table() {
  QueryRequest request;
  request.table = spec_.source;
  request.sources_only = true;
  request.selection = index_.definition.row_properties();
  request.continuation = continuation_;
  std::vector<ChangedEntity> entities;
  const auto keep = [&entities](Entity entity) {
    const auto bytes = bytes_in_memory(entity);
    auto& changed = entities.emplace_back(ChangedEntity{entity.partition_key, entity.row_key, {}, {}});
    changed.now = std::move(entity);
    return bytes;
  };
  auto next = CO_TRY(co_await read_source(context_.tables, std::move(request), {kMostAtOnce, kWalkBytes / 2}, keep));
  const auto listed = count(entities);
  CO_TRY(co_await reconcile(std::move(entities)));
  const auto in_the_way = rows_->take_in_the_way();
  if (in_the_way.entities > 0) {
    skips_.add(kInTheWay, in_the_way.one.partition_key, in_the_way.one.row_key, in_the_way.entities);
  }
  done_ += listed - std::min(listed, in_the_way.entities);
  continuation_ = std::move(next);
  if (continuation_.empty()) stage_ = Stage::kRows;
  co_return Result<void>{};
}

/// Removes rows of an earlier job that no entity justifies any more.
Task<Result<void>> IndexBuild::walk_rows() {
  QueryRequest request;
  request.table = spec_.destination;
  request.follower = index_.id;
  request.top = rows_->rows_at_once();
  request.continuation = continuation_;
  auto page = CO_TRY(co_await context_.tables.query(std::move(request)));
  auto next = table_store::text_behind(page);
  if (!page.entities.empty()) {
    const auto permit = CO_TRY(co_await context_.admit(0, page.entities.size(), {{spec_.destination, std::nullopt}}));
    CO_TRY(co_await fail_points::kIndexRows.around(rows_->check(std::move(page.entities))));
  }
  continuation_ = std::move(next);
  if (continuation_.empty()) stage_ = Stage::kLastChanges;
  co_return Result<void>{};
}

/// Returns how many have the property; the others are skipped.
std::uint64_t IndexBuild::count(const std::vector<ChangedEntity>& entities) {
  std::uint64_t out = 0;
  for (const auto& entity : entities) {
    if (jobs::property_text(*entity.now, spec_.property)) {
      ++out;
    } else {
      skips_.add(kNoValue, entity.partition_key, entity.row_key);
    }
  }
  return out;
}

Task<Result<void>> IndexBuild::reconcile(std::vector<ChangedEntity> entities) {
  std::set<std::string> partitions;
  const auto add = [&](const Entity& entity) {
    const auto value = jobs::property_text(entity, spec_.property);
    if (value) partitions.insert(indexes::group_of_value(*value).partition_key);
  };
  for (const auto& entity : entities) {
    for (const auto& before : states_before(entity)) add(before);
    if (entity.now) add(*entity.now);
  }
  if (partitions.empty()) co_return Result<void>{};
  std::vector<PartitionRef> places;
  for (const auto& partition : partitions) places.push_back({spec_.destination, partition});
  const auto permit = CO_TRY(co_await context_.admit(0, partitions.size(), std::move(places)));
  CO_TRY(co_await fail_points::kIndexRows.around(rows_->reconcile(std::move(entities))));
  co_return Result<void>{};
}

/// Pieces without a mark were written by jobs before marks existed.
Task<Result<void>> IndexBuild::remove_older_form() {
  QueryRequest request;
  request.table = spec_.destination;
  request.top = kPiecesAtOnce;
  do {
    CO_TRY(context_.check());
    auto page = CO_TRY(co_await context_.tables.query(request));
    std::vector<RowChange> erasures;
    for (const auto& row : page.entities) {
      const bool piece = row.is_copy() && !row.origin && row.find("Keys0") != nullptr && row.find("Count") != nullptr &&
                         row.find("SourceVersion") != nullptr;
      if (piece) erasures.push_back({row.partition_key, jobs::erasure_of(row.row_key, row.version)});
    }
    if (!erasures.empty()) {
      CO_TRY(co_await write_rows(rows_context().writing(), spec_.destination, erasures));
    }
    request.continuation = std::move(page.continuation);
  } while (!request.continuation.empty());
  co_return Result<void>{};
}

void IndexBuild::read_checkpoint() {
  const auto& saved = context_.checkpoint();
  if (!saved.is_object()) return;
  stage_ = jobs::value_in(kStages, saved.value("stage", std::string())).value_or(Stage::kTable);
  continuation_ = saved.value("continuation", std::string());
  done_ = saved.value("done", std::uint64_t{0});
  skips_ = SkipLog::from_json(saved.value("skips", json::array()));
}

void IndexBuild::save() {
  context_.save({{"stage", jobs::name_in(kStages, stage_)},
                 {"continuation", continuation_},
                 {"done", done_},
                 {"skips", skips_.to_json()}});
}

Task<Result<void>> IndexBuild::report(bool force) {
  jobs::RecordChange progress;
  progress.done = done_;
  progress.skipped = skips_.count();
  progress.skips = skips_.text();
  progress.phase = stage_ == Stage::kTable ? "indexing" : "checking";
  CO_TRY(co_await context_.report(std::move(progress), force));
  co_return Result<void>{};
}

}  // namespace

Task<Result<JobOutcome>> run(JobContext& context, jobs::IndexSpec spec) {
  return run_as<IndexBuild>(context, std::move(spec));
}

}  // namespace tidemark::workers
