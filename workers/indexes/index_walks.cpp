// The walks of an owner over the table and over the rows, and the entities that they find wrong.
#include <set>

#include "common/base/side_by_side.h"
#include "workers/indexes/index_owner.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;
using table_store::QueryRequest;

/// The pause between two slow scrubs.
constexpr Duration kScrubPause = 30s;
/// The pause between two scrubs that run because there may be room for rows.
constexpr Duration kRoomPause = 1s;

}  // namespace

std::size_t IndexOwner::most_at_once() const {
  constexpr std::uint64_t kMost = 200'000;
  return refers() ? std::clamp<std::uint64_t>(index_.definition.max_changes / 4, 1, kMost) : kMost;
}

/// Returns the end of a stretch. It is shorter if the index is ready, because then changes must be followed meanwhile.
ReadingEnd IndexOwner::end_of_stretch() const {
  constexpr std::size_t kShareOfReady = 8;
  if (!reads_many()) return {0, 0};
  const auto part = progress_.state == indexes::kReady ? kShareOfReady : 1;
  return {most_at_once() / part, services_.room->share() / part};
}

void IndexOwner::suspect(const Wrong& wrong) {
  if (progress_.state == indexes::kBuilding) return;
  for (const auto& entity : wrong) {
    // An entity that is still to be visited is only late.
    if (entity.refers_to && visits_.waits_for(*entity.refers_to)) continue;
    suspects_.try_emplace({entity.partition_key, entity.row_key}, entity);
  }
}

void IndexOwner::acquit(const table_store::ChangesPage& page, bool referred) {
  if (suspects_.empty()) return;
  if (page.dropped) suspects_.clear();
  std::set<std::pair<std::string, std::string>> changed, concerning;
  for (const auto& entity : page.entities) {
    changed.emplace(entity.partition_key, entity.row_key);
    if (concerns_others(entity, taken_)) concerning.emplace(entity.partition_key, entity.row_key);
  }
  std::erase_if(suspects_, [&](const auto& suspect) {
    if (!referred && changed.contains(suspect.first)) return true;
    const auto& refers_to = suspect.second.refers_to;
    return refers_to && (referred || !referred_log_) &&
           concerning.contains({refers_to->partition_key, refers_to->row_key});
  });
}

Task<Result<void>> IndexOwner::judge_suspects() {
  if (suspects_.empty()) co_return Result<void>{};
  walk_.wrong += suspects_.size();
  rows_are_of_position_ = false;
  Wrong wrong;
  for (auto& [key, entity] : std::exchange(suspects_, {})) wrong.push_back(std::move(entity));
  co_return co_await rows_->mend(std::move(wrong));
}

/// Removes the rows of entities that are gone, after the table was dropped.
Task<Result<void>> IndexOwner::remove_orphans() {
  std::string continuation;
  do {
    auto answer = co_await services_.tables.query(rows_page(std::move(continuation)));
    if (answer.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};  // the rows were in that table
    auto page = CO_TRY(std::move(answer));
    continuation = std::move(page.continuation);
    CO_TRY(co_await rows_->check(std::move(page.entities)));
  } while (!continuation.empty() && !stopping_);
  if (stopping_) co_return fail(ErrorCode::kCancelled);
  co_return Result<void>{};
}

/// Removes the notes of groups that are gone, after the table was dropped.
Task<Result<void>> IndexOwner::remove_orphaned_notes() {
  std::string from;
  do from = CO_TRY(co_await rows_->check_notes(std::move(from)));
  while (!from.empty() && !stopping_);
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

/// Tells whether a walk reads many pages at once, and the next ones ahead.
bool IndexOwner::reads_many() const { return in_a_hurry() && most_at_once() > services_.page_entities; }

void IndexOwner::begin_walk() {
  ahead_.reset();
  const bool after_loss = walk_.after_loss;
  walk_ = {};
  walk_.after_loss = after_loss;
  walk_.from = reached().everywhere();
  walk_.asked = index_.scrubs_asked;
  walk_at_ = services_.clock.monotonic();
  progress_.walk_began = services_.clock.now();
  progress_.walked = 0;
  dirty_ = true;
}

Task<Result<void>> IndexOwner::walk_page() {
  const WalkRoom::Place place(*services_.room);
  rows_are_of_position_ = false;
  const auto before = walk_.checked;
  walk_.continuation = CO_TRY(co_await (walk_.over_notes   ? rows_->check_notes(walk_.continuation)
                                        : walk_.over_blobs ? walk_blobs()
                                        : walk_.over_rows  ? walk_rows()
                                                           : walk_table()));
  read_to_end_ = referred_read_to_end_ = false;
  for (const auto& log : {entities_log_, referred_log_}) {
    if (log) log->mark_time();
  }
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
  if (ahead_) co_return co_await make_ahead_durable();
  co_return Result<void>{};
}

/// A store may show changes that are not on its disk yet, and that it loses in a crash. If the rows of a page are
/// written at once, such a page is never ahead of the log. A page that was read ahead is, until a later write is
/// durable.
Task<Result<void>> IndexOwner::make_ahead_durable() {
  auto flushed = co_await flush();
  if (!flushed) ahead_.reset();
  co_return flushed;
}

/// Begins the next part of the walk, after the suspects of the last page were judged.
void IndexOwner::next_walk() {
  walk_.ended = false;
  if (progress_.state != indexes::kBuilding && !walk_.over_rows) {
    walk_.over_rows = true;
  } else if (walk_.over_rows && !walk_.over_blobs && rows_->has_blobs()) {
    walk_.over_blobs = true;
  } else if (walk_.over_rows && !walk_.over_notes && rows_->has_notes()) {
    walk_.over_notes = true;
  } else {
    end_walk();
  }
}

QueryRequest IndexOwner::entities_page(std::string continuation) const {
  QueryRequest request;
  request.table = index_.definition.entities();
  request.filter = index_.definition.filter;
  request.sources_only = true;
  request.selection = index_.definition.row_properties();
  request.continuation = std::move(continuation);
  const auto rate = index_.definition.scrub_per_second;
  const auto most = most_at_once();
  request.top = static_cast<std::uint32_t>(
      std::clamp<std::size_t>(in_a_hurry() ? most : std::min<std::size_t>(rate, most), 1, services_.page_entities));
  return request;
}

Task<Result<IndexOwner::Stretch>> IndexOwner::read_stretch(std::string from) {
  Stretch stretch{rows_->gather(), 0, {}};
  const auto keep = [&stretch](Entity entity) {
    ++stretch.count;
    return stretch.entities->add(std::move(entity));
  };
  stretch.continuation =
      CO_TRY(co_await read_source(services_.tables, entities_page(std::move(from)), end_of_stretch(), keep));
  co_return stretch;
}

/// Reads the next stretch while the rows of the present one are written. After an error, it is read again in its turn.
Task<Result<void>> IndexOwner::read_ahead(std::string from) {
  auto stretch = co_await read_stretch(from);
  if (stretch) ahead_ = Ahead{std::move(from), std::move(*stretch)};
  co_return Result<void>{};
}

Task<Result<std::string>> IndexOwner::walk_table() {
  auto ahead = std::exchange(ahead_, {});
  if (!ahead || ahead->from != walk_.continuation) {
    auto answer = co_await read_stretch(walk_.continuation);
    if (answer.failed_with(ErrorCode::kTableNotFound)) co_return std::string();
    ahead = Ahead{walk_.continuation, CO_TRY(std::move(answer))};
  }
  auto stretch = std::move(ahead->stretch);
  walk_.checked += stretch.count;
  const auto deal_with_it = [&]() -> Task<Result<void>> {
    const auto entities = std::move(stretch.entities);
    const bool building = progress_.state == indexes::kBuilding;
    suspect(CO_TRY(co_await (building ? entities->reconcile() : entities->compare())));
    co_return Result<void>{};
  };
  const bool goes_on = reads_many() && !stretch.continuation.empty();
  CO_TRY(co_await side_by_side(services_.clock, goes_on ? 2 : 1, [&](std::size_t number) {
    return number == 0 ? deal_with_it() : read_ahead(stretch.continuation);
  }));
  co_return std::move(stretch.continuation);
}

QueryRequest IndexOwner::rows_page(std::string continuation) const {
  QueryRequest request;
  request.table = rows_->table();
  request.filter = rows_->row_filter();
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

Task<Result<std::string>> IndexOwner::walk_blobs() {
  auto page = CO_TRY(co_await rows_->check_blobs(walk_.continuation));
  walk_.checked += page.checked;
  suspect(page.wrong);
  co_return std::move(page.next);
}

void IndexOwner::end_walk() {
  show_in_the_way(walk_.in_the_way.count);
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
  begin_walk();
  scrub_now_ = std::exchange(scrub_again_, false);
  walk_at_ += scrub_now_ ? kRoomPause : kScrubPause;
}

}  // namespace tidemark::workers
