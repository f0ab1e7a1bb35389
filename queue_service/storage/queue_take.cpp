// Taking messages: the walk over visible messages, in order, past expired ones.
#include "queue_service/storage/poison_note.h"
#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
namespace {

// One call holds the writer; it drops no more than this.
constexpr std::size_t kMaxExpiredPerCall = 256;
// A walk that meets nothing due looks this far ahead, so that the next ones need not look at all. It passes over the
// tombstones of messages that were in flight, so it must not look far.
constexpr Duration kLookAhead = std::chrono::milliseconds(100);

Place after(const Place& place) { return {place.visible_at, place.sequence + 1}; }

}  // namespace

struct QueueRows::Walk {
  std::vector<FoundMessage> visible, expired;
  Place ready_front, timed_front;  // no other message lives below them
  bool bounded = false;
};

Result<QueueRows::Walk> QueueRows::walk(std::uint32_t count) const {
  Walk walk;
  const auto horizon = now_ + kLookAhead;
  PlacedRows rows(*txn_, generation_, figures_, figures_.timed_front.visible_at <= now_ ? horizon : now_);
  const bool looked_at_timed = figures_.timed() > 0 && figures_.timed_front.visible_at <= now_;
  std::optional<Place> last_ready, last_timed;
  while (rows.valid() && (count == 0 || walk.visible.size() < count)) {
    if (walk.expired.size() == kMaxExpiredPerCall) {
      walk.bounded = true;
      break;
    }
    const auto place = rows.place();
    if (rows.set() == Set::kTimed && place.visible_at > now_) {
      rows.leave(Set::kTimed);  // ready messages are visible, even behind it
      continue;
    }
    auto record = TRY(decode_message(rows.value()));
    const bool expired = has_expired(record.message.expires);
    if (!expired && count == 0) break;  // tidying ends at the first message that could be taken
    (rows.set() == Set::kReady ? last_ready : last_timed) = place;
    const bool leased = record.leased;
    (expired ? walk.expired : walk.visible).push_back({rows.set(), place, leased, std::move(record)});
    // Not one step further: the next key may lie behind many tombstones.
    if (count > 0 && walk.visible.size() == count) break;
    rows.next();
  }
  TRY(rows.status());
  const auto front = [&](Set set, const std::optional<Place>& last, const Place& otherwise) {
    const auto head = rows.head(set);
    if (head && (!last || *head > *last)) return *head;
    return last && head ? after(*last) : otherwise;
  };
  walk.ready_front = front(Set::kReady, last_ready, last_ready ? after(*last_ready) : figures_.ready_front);
  walk.timed_front = looked_at_timed ? front(Set::kTimed, last_timed, {horizon + Ticks(1), 0}) : figures_.timed_front;
  return walk;
}

/// `search`: finds the true front of the timed set if none of its messages is near.
Result<void> QueueRows::raise_fronts(const Walk& walk, bool search) {
  figures_.ready_front = walk.ready_front;
  figures_.timed_front = walk.timed_front;
  if (!search || figures_.timed() == 0 || figures_.timed_front.visible_at <= now_) return {};
  if (const auto first = TRY(first_timed(*txn_, generation_, figures_, Time::max()))) figures_.timed_front = *first;
  return {};
}

Result<void> QueueRows::drop_expired(const Walk& walk) {
  for (const auto& found : walk.expired) {
    TRY(remove(found));
  }
  figures_.expired += walk.expired.size();
  return {};
}

bool QueueRows::is_poison(const MessageRecord& record, std::uint32_t max_dequeue_count) const {
  // A delivery that was not confirmed does not count as an attempt.
  const auto attempts = record.message.dequeue_count - (record.offered ? 1U : 0U);
  return max_dequeue_count > 0 && attempts >= max_dequeue_count && !is_poison_queue(queue_);
}

Result<void> QueueRows::poison(std::vector<FoundMessage> failed) {
  if (failed.empty()) return {};
  auto target = TRY(open_or_create(*txn_, *effects_, account_, poison_queue_of(queue_), {now_, age_}));
  for (auto& found : failed) {
    TRY(remove(found));
    ++figures_.moved;
    auto moved = released(std::move(found.record));
    moved.message.annotation = annotation_of(moved, {"max_dequeue_count", whole_queue(queue_), now_});
    moved.message.expires = kNeverExpires;
    TRY(target.insert(std::move(moved), std::nullopt));
  }
  target.save();
  return {};
}

void QueueRows::deliver(MessageRecord record, const TakeRequest& request, Taken& taken) {
  if (!record.offered) ++record.message.dequeue_count;
  ++record.message.epoch;
  record.offered = request.offer;
  record.leased = true;
  record.listed = record.listed || request.lease;
  record.renewal = 0;
  record.receipt.reset();
  if (record.deliveries.size() == kMaxDeliveriesKept) record.deliveries.erase(record.deliveries.begin());
  record.deliveries.push_back(now_);
  const auto place = write(record, now_ + request.visibility);
  if (part_) record.message.part = queue_;
  taken.messages.push_back({std::move(record.message), receipt_of(place)});
}

Result<Taken> QueueRows::take(const TakeRequest& request) {
  Taken taken;
  if (options_.paused) return taken;
  auto walked = TRY(walk(request.count));
  TRY(raise_fronts(walked, false));
  TRY(drop_expired(walked));
  std::vector<FoundMessage> failed;
  std::deque<std::string> tenants;
  const auto max_dequeue_count = request.max_dequeue_count.value_or(options_.max_dequeue_count);
  for (auto& found : walked.visible) {
    if (is_poison(found.record, max_dequeue_count)) {
      failed.push_back(std::move(found));
      continue;
    }
    if (found.record.turns && !is_poison_queue(queue_)) {
      TRY(take_turn(std::move(found), request, taken, tenants));
      continue;
    }
    erase_row(found);
    deliver(std::move(found.record), request, taken);
  }
  TRY(go_on_in_turn(request, taken, std::move(tenants)));
  figures_.taken += taken.messages.size();
  taken.more = taken.more || walked.bounded || !walked.expired.empty() || !failed.empty();
  TRY(poison(std::move(failed)));
  return taken;
}

Result<bool> QueueRows::tidy() {
  auto walked = TRY(walk(0));
  TRY(raise_fronts(walked, true));
  TRY(drop_expired(walked));
  return walked.bounded || !walked.expired.empty();
}

Result<bool> QueueRows::settle(std::size_t limit) {
  std::vector<FoundMessage> due;
  bool more = false;
  {
    if (figures_.timed() == 0 || figures_.timed_front.visible_at > now_) return false;
    const auto cursor = txn_->scan(queue_keys::placed_from(generation_, Set::kTimed, figures_.timed_front, now_));
    for (; cursor->valid() && !more; cursor->next()) {
      const auto place = queue_keys::place_in(cursor->key());
      auto record = decode_message(cursor->value());
      if (!place || !record) return fail(ErrorCode::kCorruption);
      const bool leased = record->leased;
      more = due.size() == limit;
      if (!more) due.push_back({Set::kTimed, *place, leased, std::move(*record)});
    }
    TRY(cursor->status());
  }
  for (const auto& found : due) {
    erase_row(found);
    write_at(found.record, Set::kReady, found.place);
  }
  figures_.timed_front = more ? after(due.back().place) : Place{now_ + Ticks(1), 0};
  return more;
}

}  // namespace tidemark::queue_service
