#include "queue_service/storage/placed_rows.h"

namespace tidemark::queue_service {

void PlacedRows::Side::settle() {
  place.reset();
  if (!cursor || !cursor->valid()) return;
  place = queue_keys::place_in(cursor->key());
  corrupt = !place;
}

PlacedRows::PlacedRows(const kv::Reader& reader, std::uint64_t generation, const FiguresRecord& figures, Time until,
                       const Place& from) {
  if (figures.ready > 0) {
    const auto start = std::max(from, figures.ready_front);
    ready_.cursor = reader.scan(queue_keys::placed_from(generation, Set::kReady, start, Time::max()));
  }
  if (figures.timed() > 0 && figures.timed_front.visible_at <= until) {
    const auto start = std::max(from, figures.timed_front);
    timed_.cursor = reader.scan(queue_keys::placed_from(generation, Set::kTimed, start, until));
  }
  ready_.settle();
  timed_.settle();
  choose();
}

void PlacedRows::choose() {
  const bool ready = ready_.place && !ready_.left;
  const bool timed = timed_.place && !timed_.left;
  current_ = timed ? &timed_ : nullptr;
  if (ready && (!timed || *ready_.place < *timed_.place)) current_ = &ready_;
}

void PlacedRows::leave(Set set) {
  (set == Set::kReady ? ready_ : timed_).left = true;
  choose();
}

void PlacedRows::next() {
  current_->cursor->next();
  current_->settle();
  choose();
}

std::optional<Place> PlacedRows::head(Set set) const { return set == Set::kReady ? ready_.place : timed_.place; }

Result<void> PlacedRows::status() const {
  if (ready_.corrupt || timed_.corrupt) return fail(ErrorCode::kCorruption);
  for (const auto* side : {&ready_, &timed_}) {
    if (!side->cursor) continue;
    TRY(side->cursor->status());
  }
  return {};
}

}  // namespace tidemark::queue_service
