// The walks of an owner over the table and over the rows, and the entities that they find wrong.
#include "workers/indexes/index_owner.h"

namespace tidemark::workers {
namespace {

using namespace std::chrono_literals;

/// The pause between two slow scrubs.
constexpr Duration kScrubPause = 30s;
/// The pause between two scrubs that run because there may be room for rows.
constexpr Duration kRoomPause = 1s;

}  // namespace

Task<Result<void>> IndexOwner::judge_suspects() {
  if (suspects_.empty()) co_return Result<void>{};
  auto wrong = suspects_.take();
  walk_.wrong += wrong.size();
  rows_are_of_position_ = false;
  co_return co_await rows_->mend(std::move(wrong));
}

/// Removes the rows of entities that are gone, after the table was dropped.
Task<Result<void>> IndexOwner::remove_orphans() {
  std::string continuation;
  do {
    auto answer = co_await services_.tables.query(walks_->rows_page(std::move(continuation)));
    if (answer.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>{};  // the rows were in that table
    auto page = CO_TRY(std::move(answer));
    continuation = table_store::text_behind(page);
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

WalkReader::Mode IndexOwner::mode() const {
  using enum WalkReader::Mode;
  if (progress_.state == indexes::kBuilding) return kBuilding;
  if (progress_.state != indexes::kReady) return kVerifying;
  return in_a_hurry() ? kHurrying : kSlowly;
}

void IndexOwner::scrub_soon() {
  scrub_again_ = scrub_now_ || progress_.state != indexes::kReady;
  if (scrub_again_) return;
  scrub_now_ = true;
  begin_walk();
}

void IndexOwner::begin_walk() {
  walks_->forget_ahead();
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
  auto page = CO_TRY(co_await walks_->deal_with_page(walk_, mode()));
  walk_.continuation = std::move(page.continuation);
  walk_.checked += page.checked;
  if (progress_.state != indexes::kBuilding) suspects_.add(page.wrong, visits_);
  entities_.read_to_end = referred_.read_to_end = false;
  for (const auto& log : {entities_.reader, referred_.reader}) {
    if (log) log->mark_time();
  }
  progress_.walked = walk_.checked;
  dirty_ = true;
  const bool building = progress_.state == indexes::kBuilding;
  const auto rate =
      building ? index_.definition.build_per_second : (in_a_hurry() ? 0 : index_.definition.scrub_per_second);
  if (rate > 0) {
    const auto pause =
        std::chrono::duration_cast<Duration>(std::chrono::duration<double>(static_cast<double>(page.checked) / rate));
    walk_at_ = services_.clock.monotonic() + pause;
  }
  walk_.ended = walk_.continuation.empty();
  if (walks_->is_ahead()) co_return co_await make_ahead_durable();
  co_return Result<void>{};
}

/// A store may show changes that are not on its disk yet, and that it loses in a crash. If the rows of a page are
/// written at once, such a page is never ahead of the log. A page that was read ahead is, until a later write is
/// durable.
Task<Result<void>> IndexOwner::make_ahead_durable() {
  auto flushed = co_await flush();
  if (!flushed) walks_->forget_ahead();
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
