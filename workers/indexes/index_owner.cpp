#include "workers/indexes/index_owner.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/process/failures.h"
#include "indexes/store/followed_rows.h"
#include "table_store/model/listed.h"
#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

constexpr std::uint32_t kPageEntities = 1000;
/// Low, because many entities may refer to each of them.
constexpr std::uint32_t kReferredPage = 100;
constexpr std::size_t kVisitedAtOnce = 2000;
/// The number of pages of changes after which a walk has its turn.
constexpr std::uint32_t kPagesInARow = 3;
constexpr Duration kIdleWait = 500ms;
/// The shortest time between two writes of the progress while changes come.
constexpr Duration kFlushInterval = 20ms;
constexpr RetryPolicy kRetries{.base = 100ms, .cap = 10s};

/// Drops the states between the first and the last, because no rows can be of such a state.
void keep_first_states(std::vector<ChangedEntity>& changed) {
  for (auto& entity : changed) entity.before.resize(std::min<std::size_t>(entity.before.size(), 1));
}

}  // namespace

std::shared_ptr<IndexOwner> IndexOwner::create(IndexServices services, indexes::Index index, std::uint64_t epoch) {
  return std::shared_ptr<IndexOwner>(new IndexOwner(services, std::move(index), epoch));
}

IndexOwner::IndexOwner(IndexServices services, indexes::Index index, std::uint64_t epoch)
    : services_(services),
      index_(std::move(index)),
      epoch_(epoch),
      fences_(indexes::operation_of(index_.id), epoch),
      violations_(services.store, services.jobs, services.clock),
      taken_(index_.definition.taken_properties()) {}

void IndexOwner::start(Executor strand) {
  strand_ = strand;
  spawn(std::move(strand), run(shared_from_this()));
}

void IndexOwner::update(const indexes::Index& index) {
  index_.paused = index.paused;
  index_.dropping = index.dropping;
  index_.rebuilds_asked = index.rebuilds_asked;
  index_.scrubs_asked = index.scrubs_asked;
  index_.version = index.version;
  index_.definition.answer_queries(index.definition.answers_queries());
  wake_->notify_all();
}

void IndexOwner::stop() {
  stopping_ = true;
  wake_->notify_all();
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
    co_await self->wake_->wait(self->services_.clock, pause);
  }
  co_await self->await_readers();
  self->ended_ = true;
}

Task<void> IndexOwner::await_readers() {
  for (const auto& log : {entities_.reader, referred_.reader}) {
    while (log && log->reads()) co_await wake_->wait(services_.clock, kIdleWait);
  }
}

/// Stores the error, so that a person can see why the index is behind.
Task<void> IndexOwner::tell_failure(Error error) {
  if (!loaded_) co_return;
  progress_.last_error = error.message;
  progress_.last_error_at = services_.clock.now();
  ++progress_.errors;
  note_place();
  std::ignore = co_await services_.store.write_progress(index_.id, progress_, fences_.next());
}

/// Puts the walk, the visits and the position of one moment into the progress, so that an owner that goes on from the
/// position also makes the visits for which it waits.
void IndexOwner::note_place() {
  progress_.walk = walk_.text();
  if (!follows_) return;
  if (refers()) progress_.visits = visits_.text(referred_.reader ? referred_.position : entities_.position);
  progress_.position = reached().everywhere();
}

Task<Result<void>> IndexOwner::serve() {
  CO_TRY(co_await begin());
  while (!stopping_) {
    if (index_.dropping) co_return co_await drop();
    if (index_.definition.answers_queries() != answers_told_) CO_TRY(co_await follow(false));
    if (index_.paused) {
      if (dirty_) CO_TRY(co_await flush());
      co_await wake_->wait(services_.clock, kIdleWait);
      continue;
    }
    CO_TRY(co_await step());
    failures_ = 0;
  }
  if (dirty_) CO_TRY(co_await flush());
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::begin() {
  follows_ = false;
  rows_are_of_position_ = false;
  walks_.reset();
  // From now on, requests that an earlier owner or this one has sent and given up are refused.
  const auto fence = fences_.next();
  const auto ledger = CO_TRY(co_await services_.tables.open_operation(fence.operation_id, fence.epoch, 0));
  if (ledger.closed) co_return fail(ErrorCode::kFenced);  // the index was dropped
  rows_ = CO_TRY(make_index_rows({services_.tables, services_.clock, index_, fences_, services_.blobs}));
  CO_TRY(co_await rows_->begin());
  walks_.emplace(services_.tables, services_.clock, *services_.room, services_.page_entities, index_, *rows_);
  progress_ = CO_TRY(co_await services_.store.progress(index_.id)).value_or(indexes::Progress{});
  loaded_ = true;
  walk_ = Walk::read(progress_.walk);
  if (index_.dropping || stopping_) co_return Result<void>{};
  // The owner that found the index stale may have died before it began to build.
  if (progress_.state == indexes::kStale) co_return co_await begin_anew();
  referred_.position = visits_.read(progress_.visits);
  CO_TRY(co_await follow(false));
  if (progress_.walk_began == Time{}) begin_walk();
  co_return Result<void>{};
}

/// Tells whether the index has followed before, but a table's log does not know it any more: changes may be lost.
Task<Result<bool>> IndexOwner::is_forgotten() {
  if (progress_.walk_began == Time{}) co_return false;
  for (const auto& table : {index_.definition.entities(), index_.definition.referred()}) {
    if (table.empty()) continue;
    const auto followers = CO_TRY(co_await services_.tables.followers(table));
    const auto is_own = [&](const auto& status) { return status.following.follower == index_.id; };
    if (std::ranges::none_of(followers, is_own)) co_return true;
  }
  co_return false;
}

Task<Result<void>> IndexOwner::follow(bool anew) {
  if (!anew && CO_TRY(co_await is_forgotten())) co_return co_await begin_anew();
  const auto& definition = index_.definition;
  co_await await_readers();
  follows_ = false;
  if (anew) visits_.clear();
  rows_are_of_position_ = false;
  // The acknowledged changes are in the rows, even if the progress could not be written any more.
  const auto referred = definition.referred();
  auto properties = definition.key_properties();
  if (referred.empty()) properties.insert(properties.end(), taken_.begin(), taken_.end());
  const auto position = CO_TRY(co_await follow_table(definition.entities(), std::move(properties), anew));
  entities_.skip = {};
  // This holds even if the log begins anew: each lost change comes after the position, or was dealt with.
  entities_.position = raised_to(position, progress_.position);
  if (referred.empty()) {
    entities_.position = later_of(entities_.position, referred_.position);
  } else {
    const auto position_there = CO_TRY(co_await follow_table(referred, taken_, anew));
    referred_.skip = {};
    referred_.position = later_of(referred_.position, position_there);
    entities_.reader = ChangeReader::create(services_.tables, definition.entities(), index_.id, {});
    referred_.reader = ChangeReader::create(services_.tables, referred, index_.id, taken_);
  }
  follows_ = dirty_ = true;
  co_return Result<void>{};
}

Task<Result<table_store::Position>> IndexOwner::follow_table(std::string table, std::vector<std::string> properties,
                                                             bool anew) {
  const auto& definition = index_.definition;
  table_store::Following following{index_.id, std::move(properties), definition.max_changes, definition.max_bytes,
                                   definition.refuse_writes};
  if (table == definition.entities()) {
    following.lists = indexes::lists_for_queries(index_);
    following.own_rows = indexes::rows_among_entities(definition);
    answers_told_ = definition.answers_queries();
  }
  auto followed = follow_log(services_.tables, std::move(table), std::move(following), anew, fences_.next());
  const auto status = CO_TRY(co_await std::move(followed));
  co_return status.position;
}

/// Returns the position up to which all changes are in the rows.
table_store::Position IndexOwner::reached() const {
  if (!referred_.reader) return visits_.reached(entities_.position);
  return earlier_of(entities_.position, visits_.reached(referred_.position));
}

Task<Result<void>> IndexOwner::step() {
  heed_wishes();
  CO_TRY(co_await take_changes(until_next()));
  note_in_the_way(true);
  const bool read_to_end = entities_.read_to_end && (!referred_.reader || referred_.read_to_end);
  if (read_to_end) CO_TRY(co_await judge_suspects());
  note_in_the_way(false);
  if (walk_.ended && read_to_end) next_walk();
  // A walk has its turn even if changes never end.
  const bool turn = !more_ || ++pages_in_a_row_ >= kPagesInARow;
  if (turn) pages_in_a_row_ = 0;
  if (turn && !visits_.empty()) CO_TRY(co_await visit_some());
  note_in_the_way(true);
  if (turn && !walk_.ended && services_.clock.monotonic() >= walk_at_) CO_TRY(co_await walk_page());
  note_in_the_way(false);
  const auto reached_now = reached();
  if (!(position_told_ >= last_change_) && reached_now >= last_change_) dirty_ = true;
  if (rows_->take_to_tell()) violations_.note();
  co_await violations_.tell(index_);
  const bool waits_for_room = progress_.in_the_way > 0 || walk_.in_the_way.count > 0;
  if (rows_->take_made_room() && waits_for_room) scrub_soon();
  if (dirty_ && services_.clock.monotonic() - flushed_at_ >= kFlushInterval) co_return co_await flush();
  co_return Result<void>{};
}

void IndexOwner::note_in_the_way(bool shows_at_once) {
  auto found = rows_->take_in_the_way();
  if (found.count == 0) return;
  const auto count = found.count;
  walk_.in_the_way.add(std::move(found));
  if (shows_at_once) show_in_the_way(progress_.in_the_way + count);
  dirty_ = true;
}

void IndexOwner::show_in_the_way(std::uint64_t count) {
  progress_.in_the_way = count;
  progress_.in_the_way_examples.clear();
  if (count == 0) return;
  const json examples = walk_.in_the_way.examples;
  progress_.in_the_way_examples = examples.dump(-1, ' ', false, json::error_handler_t::replace);
}

void IndexOwner::heed_wishes() {
  if (progress_.rebuilds < index_.rebuilds_asked) {
    progress_.rebuilds = index_.rebuilds_asked;
    progress_.state = indexes::kBuilding;
    begin_walk();
  }
  if (progress_.state == indexes::kReady && walk_.asked < index_.scrubs_asked) begin_walk();
}

/// Returns how long to wait for changes: not at all if there is other work.
Duration IndexOwner::until_next() const {
  const auto now = services_.clock.monotonic();
  if (!visits_.empty()) return Duration::zero();
  auto wait = walk_.ended && referred_.reader ? kIdleWait : std::min(kIdleWait, walk_at_ - now);
  if (dirty_) wait = std::min(wait, flushed_at_ + kFlushInterval - now);
  return std::max(wait, Duration::zero());
}

/// Returns the share of one shard, because all changes may be on the same shard. If queries go by the index, only few
/// changes may wait.
LogRoom IndexOwner::log_room() const {
  const auto shards = std::max<std::size_t>(entities_.position.shards.size(), 1);
  LogRoom room{index_.definition.max_changes / shards, index_.definition.max_bytes / shards};
  if (index_.definition.answers_queries()) {
    room.changes = std::min<std::uint64_t>(room.changes, 2 * table_store::kMostUnsettled);
  }
  return room;
}

Task<Result<void>> IndexOwner::take_changes(Duration wait) {
  if (referred_.reader) co_return co_await take_changes_of_two(wait);
  if (visits_.full()) co_return Result<void>{};
  if (const auto rest = pace_.rest(services_.clock.monotonic()); rest > Duration::zero()) {
    // A walk that is over makes room for the next one once the log was read to its end, so no walk has a turn before
    // that.
    const bool only_the_log = walk_.ended && !entities_.read_to_end && visits_.empty();
    co_await wake_->wait(services_.clock, only_the_log ? rest : std::min(wait, rest));
    if (pace_.rest(services_.clock.monotonic()) > Duration::zero()) co_return Result<void>{};
    wait = Duration::zero();
  }
  ChangesRequest request{index_.definition.entities(),      index_.id, entities_.position, entities_.skip, wait,
                         index_.definition.row_properties()};
  if (refers()) request.most = kPageEntities;
  auto page = CO_TRY(co_await read_changes(services_.tables, std::move(request)));
  pace_.read(services_.clock.monotonic(), {page.changes, page.bytes, page.entities.size(), page.more}, log_room());
  co_return co_await take_entities(std::move(page));
}

/// Takes the changes of both tables, beginning as soon as either has some.
Task<Result<void>> IndexOwner::take_changes_of_two(Duration wait) {
  const auto ticket = wake_->ticket();
  const bool hurries = walk_.ended || !suspects_.empty();
  const auto patience = [&](bool read_to_end) { return hurries && !read_to_end ? Duration::zero() : kIdleWait / 2; };
  entities_.reader->read_on(strand_, entities_.position, entities_.skip, kPageEntities, patience(entities_.read_to_end),
                            wake_);
  if (!visits_.full()) {
    referred_.reader->read_on(strand_, referred_.position, referred_.skip, kReferredPage,
                              patience(referred_.read_to_end), wake_);
  }
  if (!entities_.reader->has_page() && !referred_.reader->has_page()) {
    co_await wake_->wait(ticket, services_.clock, wait);
  }
  if (entities_.reader->has_page()) {
    const bool old = entities_.reader->is_old();
    auto page = CO_TRY(entities_.reader->take());
    if (page.stale) co_return co_await begin_anew();
    CO_TRY(co_await take_entities(std::move(page), old));
  }
  if (!referred_.reader->has_page()) co_return Result<void>{};
  const bool old = referred_.reader->is_old();
  auto page = CO_TRY(referred_.reader->take());
  if (page.stale) co_return co_await begin_anew();
  co_return co_await take_referred(std::move(page), old);
}

Task<Result<void>> IndexOwner::take_entities(table_store::ChangesPage page, bool old) {
  if (page.stale) co_return co_await begin_anew();
  more_ = page.more;
  entities_.read_to_end = entities_.read_to_end || !(page.more || old);
  suspects_.acquit(page, {.have_rows = true, .are_referred = !referred_.reader}, taken_);
  if (page.entities.empty() && !page.dropped) {
    // There is nothing to write down: all changes in the log were dealt with.
    entities_.position = page.through;
    entities_.skip = page.skip;
    rows_are_of_position_ = !(page.more || old);
    co_return Result<void>{};
  }
  walks_->forget_ahead();
  last_change_ = later_of(last_change_, page.through);
  progress_.changes += page.entities.size();
  if (refers() && !referred_.reader) visits_.add(page.entities, taken_, entities_.position);
  if (std::exchange(rows_are_of_position_, false)) keep_first_states(page.entities);
  CO_TRY(co_await rows_->reconcile(std::move(page.entities)));
  if (page.dropped) CO_TRY(co_await remove_orphans());
  if (page.dropped) CO_TRY(co_await remove_orphaned_notes());
  entities_.position = page.through;
  entities_.skip = page.skip;
  rows_are_of_position_ = !(page.more || old);
  dirty_ = true;
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::take_referred(table_store::ChangesPage page, bool old) {
  referred_.read_to_end = referred_.read_to_end || !(page.more || old);
  suspects_.acquit(page, {.are_referred = true}, taken_);
  progress_.changes += page.entities.size();
  if (!page.entities.empty()) {
    last_change_ = later_of(last_change_, page.through);
    dirty_ = true;
  }
  visits_.add(page.entities, taken_, referred_.position);
  if (page.dropped) {
    // All entities that refer to others must be looked at, as when the index is built.
    progress_.state = indexes::kBuilding;
    begin_walk();
  }
  referred_.position = page.through;
  referred_.skip = page.skip;
  co_return Result<void>{};
}

/// Visits a page of the entities that refer to changed ones.
Task<Result<void>> IndexOwner::visit_some() {
  rows_are_of_position_ = false;
  auto visits =
      CO_TRY(co_await rows_->referrers()->go_on(visits_.next(), std::min(kVisitedAtOnce, walks_->most_at_once())));
  visits_.done(std::move(visits));
  dirty_ = true;
  co_return Result<void>{};
}

/// Builds the index again, because the log has not waited for it.
Task<Result<void>> IndexOwner::begin_anew() {
  progress_.state = indexes::kStale;
  CO_TRY(co_await services_.store.write_progress(index_.id, progress_, fences_.next()));
  CO_TRY(co_await follow(true));
  progress_.state = indexes::kBuilding;
  walk_.after_loss = true;
  begin_walk();
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::flush() {
  note_place();
  const auto reached_now = reached();
  if (failures_ == 0 && progress_.errors > 0) progress_.errors = 0;
  auto written = services_.store.write_progress(index_.id, progress_, fences_.next());
  CO_TRY(co_await fail_points::kFollowProgress.around(std::move(written)));
  const auto dealt_with = referred_.reader ? entities_.position : reached_now;
  auto told = services_.tables.acknowledge(index_.definition.entities(), index_.id, dealt_with);
  CO_TRY(co_await fail_points::kFollowAcknowledge.around(std::move(told)));
  if (referred_.reader) {
    auto told_there =
        services_.tables.acknowledge(index_.definition.referred(), index_.id, visits_.reached(referred_.position));
    CO_TRY(co_await fail_points::kFollowAcknowledge.around(std::move(told_there)));
  }
  dirty_ = false;
  position_told_ = reached_now;
  flushed_at_ = services_.clock.monotonic();
  co_return Result<void>{};
}

Task<Result<void>> IndexOwner::drop() {
  progress_.state = indexes::kDropping;
  CO_TRY(co_await services_.store.write_progress(index_.id, progress_, fences_.next()));
  std::string continuation;
  do {
    auto answer = co_await services_.tables.query(walks_->rows_page(std::move(continuation)));
    if (answer.failed_with(ErrorCode::kTableNotFound)) break;
    auto page = CO_TRY(std::move(answer));
    continuation = std::move(page.continuation);
    CO_TRY(co_await rows_->erase(std::move(page.entities)));
  } while (!continuation.empty() && !stopping_);
  if (stopping_) co_return Result<void>{};
  CO_TRY(co_await rows_->end());
  for (const auto& table : {index_.definition.entities(), index_.definition.referred()}) {
    if (!table.empty()) CO_TRY(co_await services_.tables.unfollow(table, index_.id));
  }
  CO_TRY(co_await services_.store.forget(index_));
  const auto fence = fences_.next();
  CO_TRY(co_await services_.tables.close_operation(fence.operation_id, fence.epoch, 0));
  CO_TRY(co_await services_.store.forget_owner(index_.id));
  stopping_ = true;
  co_return Result<void>{};
}

}  // namespace tidemark::workers
