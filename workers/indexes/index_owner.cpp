#include "workers/indexes/index_owner.h"

#include <nlohmann/json.hpp>

#include "common/base/json.h"
#include "common/process/failures.h"
#include "jobs/store/rows.h"
#include "workers/indexes/source_walk.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using table_store::QueryRequest;

constexpr std::uint32_t kPageEntities = 1000;
/// Pages of changes before a walk has its turn.
constexpr std::uint32_t kPagesInARow = 10;
constexpr Duration kIdleWait = 500ms;
/// The progress is written at most so often while changes come.
constexpr Duration kFlushInterval = 20ms;
/// Between two slow scrubs.
constexpr Duration kScrubPause = 30s;
/// Between two scrubs because there may be room.
constexpr Duration kRoomPause = 1s;
constexpr RetryPolicy kRetries{.base = 100ms, .cap = 10s};

}  // namespace

std::shared_ptr<IndexOwner> IndexOwner::create(IndexServices services, indexes::Index index, std::uint64_t epoch) {
  return std::shared_ptr<IndexOwner>(new IndexOwner(services, std::move(index), epoch));
}

IndexOwner::IndexOwner(IndexServices services, indexes::Index index, std::uint64_t epoch)
    : services_(services), index_(std::move(index)), epoch_(epoch), fences_("index/" + index_.id, epoch) {}

void IndexOwner::start(Executor strand) { spawn(std::move(strand), run(shared_from_this())); }

void IndexOwner::update(const indexes::Index& index) {
  index_.paused = index.paused;
  index_.dropping = index.dropping;
  index_.rebuilds_asked = index.rebuilds_asked;
  index_.scrubs_asked = index.scrubs_asked;
  index_.version = index.version;
  wake_.notify_all();
}

void IndexOwner::stop() {
  stopping_ = true;
  wake_.notify_all();
}

Task<void> IndexOwner::run(std::shared_ptr<IndexOwner> self) {
  while (!self->stopping_) {
    auto served = co_await self->serve();
    if (served || served.error().code == ErrorCode::kFenced) break;
    process::log_failed_task("worker.index " + self->index_.name, served.error());
    co_await self->tell_failure(std::move(served.error()));
    if (self->stopping_) break;
    const auto pause =
        std::max<Duration>(kRetries.base / 2, kRetries.backoff(++self->failures_, self->services_.random));
    co_await self->wake_.wait(self->services_.clock, pause);
  }
  self->ended_ = true;
}

/// So that a person can see why it is behind.
Task<void> IndexOwner::tell_failure(Error error) {
  if (!loaded_) co_return;
  progress_.last_error = error.message;
  progress_.last_error_at = services_.clock.now();
  ++progress_.errors;
  std::ignore = co_await services_.store.write_progress(index_.id, progress_, fences_.next());
}

Task<Result<void>> IndexOwner::serve() {
  CO_TRY(co_await begin());
  while (!stopping_) {
    if (index_.dropping) co_return co_await drop();
    if (index_.paused) {
      if (dirty_) CO_TRY(co_await flush());
      co_await wake_.wait(services_.clock, kIdleWait);
      continue;
    }
    CO_TRY(co_await step());
    failures_ = 0;
  }
  if (dirty_) CO_TRY(co_await flush());
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::begin() {
  // From now on, what an earlier owner or this one has sent and given up is refused.
  const auto fence = fences_.next();
  CO_TRY(co_await services_.tables.open_operation(fence.operation_id, fence.epoch, 0));
  rows_ = CO_TRY(make_index_rows({services_.tables, index_, fences_}));
  progress_ = CO_TRY(co_await services_.store.progress(index_.id)).value_or(indexes::Progress{});
  loaded_ = true;
  walk_ = {};
  const auto walk = json_or_discarded(progress_.walk);
  if (walk.is_object()) {
    walk_.over_rows = walk.value("rows", false);
    walk_.continuation = walk.value("at", std::string());
    walk_.checked = walk.value("checked", std::uint64_t{0});
    walk_.wrong = walk.value("wrong", std::uint64_t{0});
    walk_.from = walk.value("from", std::int64_t{0});
    walk_.asked = walk.value("asked", std::int32_t{0});
    walk_.after_loss = walk.value("lost", false);
  }
  if (index_.dropping) co_return Result<void>{};
  // Whoever found that it was stale may have died before it began to build.
  if (progress_.state == indexes::kStale) co_return co_await begin_anew();
  CO_TRY(co_await follow(false));
  if (progress_.walk_began == Time{}) begin_walk();
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::follow(bool anew) {
  const auto& definition = index_.definition;
  table_store::Following following{index_.id, definition.key_properties(), definition.max_changes, definition.max_bytes,
                                   definition.refuse_writes};
  const auto status = CO_TRY(co_await services_.tables.follow(definition.source, std::move(following), anew));
  // What was acknowledged is in the rows, even if the progress could not be written any more.
  skip_ = 0;
  progress_.position = anew ? status.position : std::max(progress_.position, status.position);
  dirty_ = true;
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::step() {
  heed_wishes();
  CO_TRY(co_await take_changes(until_next()));
  if (walk_.ended && !more_) next_walk();
  // A walk has its turn even if changes never end.
  const bool turn = !more_ || ++pages_in_a_row_ >= kPagesInARow;
  if (turn && services_.clock.monotonic() >= walk_at_) {
    pages_in_a_row_ = 0;
    CO_TRY(co_await walk_page());
  }
  const auto in_the_way = rows_->take_in_the_way();
  if (in_the_way.count > 0) {
    progress_.in_the_way += in_the_way.count;
    progress_.in_the_way_examples = json(in_the_way.examples).dump(-1, ' ', false, json::error_handler_t::replace);
    dirty_ = true;
  }
  if (rows_->take_made_room() && progress_.in_the_way > 0) scrub_soon();
  if (dirty_ && services_.clock.monotonic() - flushed_at_ >= kFlushInterval) co_return co_await flush();
  co_return Result<void>{};
}

void IndexOwner::heed_wishes() {
  if (progress_.rebuilds < index_.rebuilds_asked) {
    progress_.rebuilds = index_.rebuilds_asked;
    progress_.state = indexes::kBuilding;
    begin_walk();
  }
  if (progress_.state == indexes::kReady && walk_.asked < index_.scrubs_asked) begin_walk();
}

/// How long to wait for changes: not at all if there is other work.
Duration IndexOwner::until_next() const {
  const auto now = services_.clock.monotonic();
  auto wait = std::min(kIdleWait, walk_at_ - now);
  if (dirty_) wait = std::min(wait, flushed_at_ + kFlushInterval - now);
  return std::max(wait, Duration::zero());
}

Task<Result<void>> IndexOwner::take_changes(Duration wait) {
  auto page = CO_TRY(co_await services_.tables.changed_entities(index_.definition.source, index_.id, progress_.position,
                                                                skip_, kPageEntities, wait));
  if (page.stale) co_return co_await begin_anew();
  more_ = page.more;
  judge_suspects(page);
  if (page.entities.empty() && !page.dropped) {
    // Nothing to write down: the log holds nothing that was not dealt with.
    progress_.position = page.through;
    skip_ = page.skip;
    co_return Result<void>{};
  }
  progress_.changes += page.entities.size();
  CO_TRY(co_await rows_->reconcile(std::move(page.entities)));
  if (page.dropped) CO_TRY(co_await remove_orphans());
  progress_.position = page.through;
  skip_ = page.skip;
  dirty_ = true;
  co_return Result<void>{};
}

void IndexOwner::suspect(const Wrong& wrong) {
  if (progress_.state == indexes::kBuilding) return;
  for (const auto& key : wrong) suspects_.emplace(key.partition_key, key.row_key);
}

void IndexOwner::judge_suspects(const table_store::ChangesPage& page) {
  if (suspects_.empty()) return;
  for (const auto& entity : page.entities) suspects_.erase({entity.partition_key, entity.row_key});
  if (page.dropped) suspects_.clear();
  if (page.more) return;
  walk_.wrong += suspects_.size();
  suspects_.clear();
}

/// The log has not waited for this index.
Task<Result<void>> IndexOwner::begin_anew() {
  progress_.state = indexes::kStale;
  CO_TRY(co_await services_.store.write_progress(index_.id, progress_, fences_.next()));
  CO_TRY(co_await follow(true));
  progress_.state = indexes::kBuilding;
  walk_.after_loss = true;
  begin_walk();
  co_return Result<void>{};
}

/// After the table was dropped: rows of entities that are not there any more.
Task<Result<void>> IndexOwner::remove_orphans() {
  std::string continuation;
  do {
    auto answer = co_await services_.tables.query(rows_page(std::move(continuation)));
    if (answer.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};  // they were in it
    auto page = CO_TRY(std::move(answer));
    continuation = std::move(page.continuation);
    CO_TRY(co_await rows_->check(std::move(page.entities)));
  } while (!continuation.empty() && !stopping_);
  if (stopping_) co_return fail(ErrorCode::kCancelled);
  co_return Result<void>{};
}

bool IndexOwner::in_a_hurry() const {
  return progress_.state != indexes::kReady || scrub_now_ || progress_.scrubs < index_.scrubs_asked;
}

void IndexOwner::scrub_soon() {
  scrub_again_ = scrub_now_ || progress_.state != indexes::kReady;
  if (scrub_again_) return;
  scrub_now_ = true;
  begin_walk();
}

void IndexOwner::begin_walk() {
  const bool after_loss = walk_.after_loss;
  walk_ = {};
  walk_.after_loss = after_loss;
  walk_.from = progress_.position;
  walk_.asked = index_.scrubs_asked;
  walk_at_ = services_.clock.monotonic();
  progress_.walk_began = services_.clock.now();
  progress_.walked = 0;
  progress_.in_the_way = 0;
  progress_.in_the_way_examples.clear();
  dirty_ = true;
}

Task<Result<void>> IndexOwner::walk_page() {
  const auto before = walk_.checked;
  walk_.continuation = CO_TRY(co_await (walk_.over_rows ? walk_rows() : walk_table()));
  const auto seen = walk_.checked - before;
  progress_.walked = walk_.checked;
  dirty_ = true;
  const bool building = progress_.state == indexes::kBuilding;
  const auto rate =
      building ? index_.definition.build_per_second : (in_a_hurry() ? 0 : index_.definition.scrub_per_second);
  if (rate > 0) {
    const auto pause =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(static_cast<double>(seen) / rate));
    walk_at_ = services_.clock.monotonic() + pause;
  }
  walk_.ended = walk_.continuation.empty();
  co_return Result<void>{};
}

/// The last page's suspects have been judged.
void IndexOwner::next_walk() {
  walk_.ended = false;
  if (progress_.state != indexes::kBuilding && !walk_.over_rows) {
    walk_.over_rows = true;
  } else {
    end_walk();
  }
}

Task<Result<std::string>> IndexOwner::walk_table() {
  QueryRequest request;
  request.table = index_.definition.source;
  request.filter = index_.definition.filter;
  request.sources_only = true;
  request.continuation = walk_.continuation;
  const auto rate = index_.definition.scrub_per_second;
  request.top = in_a_hurry() ? kPageEntities : std::clamp<std::uint32_t>(rate, 1, kPageEntities);
  auto answer = co_await read_source_page(services_.tables, std::move(request), in_a_hurry());
  if (answer.failed_with(ErrorCode::kTableNotFound)) co_return std::string();
  auto page = CO_TRY(std::move(answer));
  walk_.checked += page.entities.size();
  suspect(CO_TRY(co_await rows_->reconcile(std::move(page.entities))));
  co_return std::move(page.continuation);
}

QueryRequest IndexOwner::rows_page(std::string continuation) const {
  QueryRequest request;
  request.table = rows_->table();
  request.follower = index_.id;
  request.continuation = std::move(continuation);
  request.top = rows_->rows_at_once();
  return request;
}

Task<Result<std::string>> IndexOwner::walk_rows() {
  auto answer = co_await services_.tables.query(rows_page(walk_.continuation));
  if (answer.failed_with(ErrorCode::kTableNotFound)) co_return std::string();
  auto page = CO_TRY(std::move(answer));
  walk_.checked += page.entities.size();
  suspect(CO_TRY(co_await rows_->check(std::move(page.entities))));
  co_return std::move(page.continuation);
}

void IndexOwner::end_walk() {
  if (progress_.state == indexes::kBuilding) {
    progress_.state = indexes::kVerifying;
    progress_.total = walk_.checked;
    begin_walk();
    return;
  }
  progress_.state = indexes::kReady;
  progress_.scrubs = walk_.asked;
  progress_.checked = walk_.checked;
  progress_.wrong = walk_.wrong;
  if (!std::exchange(walk_.after_loss, false)) progress_.wrong_ever += walk_.wrong;
  progress_.proven = walk_.from;
  progress_.proven_at = services_.clock.now();
  const auto in_the_way = progress_.in_the_way;
  auto examples = std::move(progress_.in_the_way_examples);
  begin_walk();
  progress_.in_the_way = in_the_way;
  progress_.in_the_way_examples = std::move(examples);
  scrub_now_ = std::exchange(scrub_again_, false);
  walk_at_ += scrub_now_ ? kRoomPause : kScrubPause;
}

Task<Result<void>> IndexOwner::flush() {
  json walk = {{"rows", walk_.over_rows}, {"at", walk_.continuation}, {"from", walk_.from}};
  walk["checked"] = walk_.checked;
  walk["wrong"] = walk_.wrong;
  walk["asked"] = walk_.asked;
  walk["lost"] = walk_.after_loss;
  progress_.walk = walk.dump();
  if (failures_ == 0 && progress_.errors > 0) progress_.errors = 0;
  auto written = services_.store.write_progress(index_.id, progress_, fences_.next());
  CO_TRY(co_await fail_points::kFollowProgress.around(std::move(written)));
  auto told = services_.tables.acknowledge(index_.definition.source, index_.id, progress_.position);
  CO_TRY(co_await fail_points::kFollowAcknowledge.around(std::move(told)));
  dirty_ = false;
  flushed_at_ = services_.clock.monotonic();
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::drop() {
  progress_.state = indexes::kDropping;
  CO_TRY(co_await services_.store.write_progress(index_.id, progress_, fences_.next()));
  std::string continuation;
  do {
    auto answer = co_await services_.tables.query(rows_page(std::move(continuation)));
    if (answer.failed_with(ErrorCode::kTableNotFound)) break;
    auto page = CO_TRY(std::move(answer));
    continuation = std::move(page.continuation);
    CO_TRY(co_await rows_->erase(std::move(page.entities)));
  } while (!continuation.empty() && !stopping_);
  if (stopping_) co_return Result<void>{};
  CO_TRY(co_await services_.tables.unfollow(index_.definition.source, index_.id));
  CO_TRY(co_await services_.store.forget(index_));
  const auto fence = fences_.next();
  CO_TRY(co_await services_.tables.close_operation(fence.operation_id, fence.epoch, 0));
  stopping_ = true;
  co_return Result<void>{};
}

}  // namespace tidemark::workers
