#include "queue_service/storage/queue_rows.h"

#include "common/kv/key_codec.h"

namespace tidemark::queue_service {
namespace {

// One call holds the writer; it drops and passes over no more than this.
constexpr std::size_t kMaxExpiredPerCall = 256;
constexpr std::size_t kMaxWalkPerCall = 4096;

Error corrupt(std::string_view what) {
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "row=" + std::string(what);
  return error;
}

}  // namespace

Result<std::optional<QueueRecord>> read_queue(const kv::Reader& reader, std::string_view account,
                                              std::string_view queue) {
  auto bytes = reader.get(keys::queue(account, queue));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return std::optional<QueueRecord>();
  auto record = decode_queue(**bytes);
  if (!record) return fail(std::move(record.error()));
  return std::optional<QueueRecord>(std::move(*record));
}

Result<QueueRecord> require_queue(const kv::Reader& reader, std::string_view account, std::string_view queue) {
  auto record = read_queue(reader, account, queue);
  if (!record) return fail(std::move(record.error()));
  if (!*record) return fail(ErrorCode::kQueueNotFound);
  return std::move(**record);
}

Result<FiguresRecord> read_figures(const kv::Reader& reader, std::uint64_t generation) {
  auto bytes = reader.get(keys::figures(generation));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return fail(corrupt("figures"));
  return decode_figures(**bytes);
}

Result<std::optional<FoundMessage>> read_place(const kv::Reader& reader, std::uint64_t generation, const Place& place) {
  auto bytes = reader.get(keys::message(generation, place));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return std::optional<FoundMessage>();
  auto record = decode_message(**bytes);
  if (!record) return fail(std::move(record.error()));
  record->message.next_visible = place.visible_at;
  return std::optional<FoundMessage>({place, std::move(*record)});
}

Result<std::optional<FoundMessage>> read_message(const kv::Reader& reader, std::uint64_t generation,
                                                 std::string_view id) {
  auto bytes = reader.get(keys::by_id(generation, id));
  if (!bytes) return fail(std::move(bytes.error()));
  if (!*bytes) return std::optional<FoundMessage>();
  const auto place = place_from_bytes(**bytes);
  if (!place) return fail(corrupt("id"));
  auto found = read_place(reader, generation, *place);
  if (found && !*found) return fail(corrupt("id without message"));
  return found;
}

Result<std::uint64_t> start_generation(kv::Transaction& txn, std::string_view account, std::string_view queue,
                                       QueueRecord record, Time last_immediate) {
  auto bytes = txn.get(keys::generations());
  if (!bytes) return fail(std::move(bytes.error()));
  std::uint64_t generation = 1;
  if (*bytes) {
    std::string_view rest = **bytes;
    const auto last = kv::take_u64(rest);
    if (!last) return fail(corrupt("generations"));
    generation = *last + 1;
  }
  std::string encoded;
  kv::append_u64(encoded, generation);
  txn.put(keys::generations(), encoded);
  record.generation = generation;
  txn.put(keys::queue(account, queue), encode(record));
  FiguresRecord figures;
  // Places of different generations differ too: an old receipt cannot fit a message that was moved away and back.
  figures.next_sequence = generation << 32;
  figures.last_immediate = last_immediate;
  txn.put(keys::figures(generation), encode(figures));
  return generation;
}

void drop_generation(kv::Transaction& txn, std::uint64_t generation) { txn.put(keys::dropped(generation), ""); }

Result<QueueRows> QueueRows::open(kv::Transaction& txn, FrontHints& hints, Effects& effects, std::string account,
                                  std::string queue, Time now) {
  auto record = require_queue(txn, account, queue);
  if (!record) return fail(std::move(record.error()));
  QueueRows rows(txn, hints, effects, std::move(account), std::move(queue), now);
  rows.generation_ = record->generation;
  auto figures = read_figures(txn, rows.generation_);
  if (!figures) return fail(std::move(figures.error()));
  rows.figures_ = *figures;
  return rows;
}

Place QueueRows::write(MessageRecord& record, std::optional<Time> visible_at) {
  record.immediate = !visible_at || *visible_at <= now_;
  Place place{record.immediate ? std::max(now_, figures_.last_immediate) : *visible_at, figures_.next_sequence++};
  if (record.immediate) figures_.last_immediate = place.visible_at;
  record.message.next_visible = place.visible_at;
  txn_->put(keys::message(generation_, place), encode(record));
  txn_->put(keys::by_id(generation_, record.message.id), place_bytes(place));
  hints_->lower(generation_, place);
  std::optional<Time> due;
  if (!record.immediate) due = place.visible_at;
  effects_->arrivals.push_back({account_, queue_, due});
  return place;
}

void QueueRows::erase_place(const Place& place) {
  txn_->erase(keys::message(generation_, place));
  hints_->erased(generation_, place);
}

Place QueueRows::insert(MessageRecord record, std::optional<Time> visible_at) {
  ++figures_.messages;
  return write(record, visible_at);
}

Place QueueRows::rewrite(const FoundMessage& old, std::optional<Time> visible_at) {
  erase_place(old.place);
  auto record = old.record;
  return write(record, visible_at);
}

void QueueRows::remove(const FoundMessage& found) {
  erase_place(found.place);
  txn_->erase(keys::by_id(generation_, found.record.message.id));
  --figures_.messages;
}

Result<std::optional<FoundMessage>> QueueRows::find(std::string_view id) const {
  auto found = read_message(*txn_, generation_, id);
  if (found && *found && (*found)->record.message.expires <= now_) return std::optional<FoundMessage>();
  return found;
}

Result<FoundMessage> QueueRows::find_by_receipt(std::string_view id, std::string_view receipt) const {
  const auto place = from_receipt(receipt);
  if (place) {
    auto found = read_place(*txn_, generation_, *place);
    if (!found) return fail(std::move(found.error()));
    // An earlier receipt of an existing message is reported as the service does: the message is not (there).
    if (!*found) return fail(ErrorCode::kMessageNotFound);
    if ((*found)->record.message.id == id) {
      if ((*found)->record.message.expires <= now_) return fail(ErrorCode::kMessageNotFound);
      return std::move(**found);
    }
  }
  auto exists = find(id);
  if (!exists) return fail(std::move(exists.error()));
  return fail(*exists ? ErrorCode::kPopReceiptMismatch : ErrorCode::kMessageNotFound);
}

struct QueueRows::Walk {
  std::vector<FoundMessage> visible, expired;
  Place front;  // nothing else is live below it
  bool bounded = false;
};

Result<QueueRows::Walk> QueueRows::walk(std::uint32_t count) const {
  Walk walk;
  // After a backward jump of the clock, messages that were to be visible at once lie ahead of it.
  const auto until = std::max(now_, figures_.last_immediate);
  const auto cursor = txn_->scan(keys::messages(generation_, hints_->front(generation_), until));
  std::optional<Place> survivor;
  bool at_end = true;
  walk.front = hints_->front(generation_);
  for (std::size_t walked = 0; cursor->valid(); cursor->next(), ++walked) {
    if (walked == kMaxWalkPerCall || walk.expired.size() == kMaxExpiredPerCall) {
      at_end = false;
      walk.bounded = true;
      break;
    }
    const auto place = keys::message_place(cursor->key());
    if (!place) return fail(corrupt("message key"));
    auto record = decode_message(cursor->value());
    if (!record) return fail(std::move(record.error()));
    const bool expired = record->message.expires <= now_;
    const bool visible = record->immediate || place->visible_at <= now_;
    if (!expired && (count == 0 || !visible)) {
      if (!survivor) survivor = *place;
      if (visible) break;  // tidying ends at the first message that somebody can take
      continue;
    }
    if (!survivor) walk.front = {place->visible_at, place->sequence + 1};
    (expired ? walk.expired : walk.visible).push_back({*place, std::move(*record)});
    // Not one step further: the next key may lie behind many tombstones.
    if (walk.visible.size() == count && count > 0) {
      at_end = false;
      break;
    }
  }
  auto status = cursor->status();
  if (!status) return fail(std::move(status.error()));
  if (survivor) {
    walk.front = *survivor;
  } else if (at_end) {
    walk.front = {until + Ticks(1), 0};
  }
  return walk;
}

Result<Taken> QueueRows::take(std::uint32_t count, Duration visibility) {
  auto walked = walk(count);
  if (!walked) return fail(std::move(walked.error()));
  effects_->raised.push_back(generation_);
  hints_->raise(generation_, walked->front);
  for (const auto& found : walked->expired) remove(found);
  Taken taken;
  taken.more = walked->bounded;
  for (auto& found : walked->visible) {
    auto& message = found.record.message;
    ++message.dequeue_count;
    ++message.epoch;
    found.record.leased = true;
    const auto place = rewrite(found, now_ + visibility);
    message.next_visible = place.visible_at;
    taken.messages.push_back({std::move(message), to_receipt(place)});
  }
  return taken;
}

Result<bool> QueueRows::tidy() {
  auto walked = walk(0);
  if (!walked) return fail(std::move(walked.error()));
  effects_->raised.push_back(generation_);
  hints_->raise(generation_, walked->front);
  for (const auto& found : walked->expired) remove(found);
  return walked->bounded;
}

void QueueRows::save() { txn_->put(keys::figures(generation_), encode(figures_)); }

}  // namespace tidemark::queue_service
