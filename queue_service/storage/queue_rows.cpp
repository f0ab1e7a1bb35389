#include "queue_service/storage/queue_rows.h"

namespace tidemark::queue_service {
namespace {

Error corrupt(std::string_view what) { return error_for_log(ErrorCode::kCorruption, "row=" + std::string(what)); }

FoundMessage found_at(Set set, const Place& place, MessageRecord record) {
  record.message.next_visible = place.visible_at;
  const bool leased = record.leased;
  return {set, place, leased, std::move(record)};
}

}  // namespace

Result<std::optional<QueueRecord>> read_queue(const kv::Reader& reader, std::string_view account,
                                              std::string_view queue) {
  auto bytes = TRY(reader.get(queue_keys::queue(account, queue)));
  if (!bytes) return std::optional<QueueRecord>();
  auto record = TRY(kQueueRecord.decode(*bytes));
  return std::optional<QueueRecord>(std::move(record));
}

Result<QueueRecord> require_queue(const kv::Reader& reader, std::string_view account, std::string_view queue) {
  auto record = TRY(read_queue(reader, account, queue));
  if (record) return std::move(*record);
  if (!part_in(queue)) TRY(check_queue_name(queue));
  return fail(ErrorCode::kQueueNotFound);
}

Result<FiguresRecord> read_figures(const kv::Reader& reader, std::uint64_t generation) {
  auto bytes = TRY(reader.get(queue_keys::figures(generation)));
  if (!bytes) return fail(corrupt("figures"));
  return kFiguresRecord.decode(*bytes);
}

Result<std::optional<FoundMessage>> read_place(const kv::Reader& reader, std::uint64_t generation, Set set,
                                               const Place& place) {
  auto bytes = TRY(reader.get(queue_keys::placed(generation, set, place)));
  if (!bytes) return std::optional<FoundMessage>();
  auto record = TRY(decode_message(*bytes));
  return std::optional(found_at(set, place, std::move(record)));
}

Result<std::optional<FoundMessage>> read_message(const kv::Reader& reader, std::uint64_t generation,
                                                 std::string_view id) {
  auto bytes = TRY(reader.get(queue_keys::by_id(generation, id)));
  if (!bytes) return std::optional<FoundMessage>();
  auto where = TRY(decode_id(*bytes));
  if (where.set != Set::kWaiting) {
    auto found = read_place(reader, generation, where.set, where.place);
    if (found && !*found) return fail(corrupt("id without message"));
    return found;
  }
  auto row = TRY(reader.get(queue_keys::waiting(generation, where.group, where.place.sequence)));
  if (!row) return fail(corrupt("id without message"));
  auto record = TRY(decode_message(*row));
  return std::optional(found_at(Set::kWaiting, where.place, std::move(record)));
}

Result<std::optional<FoundMessage>> read_named(const kv::Reader& reader, std::uint64_t generation,
                                               const MessageName& name) {
  auto listed = TRY(read_message(reader, generation, name.id));
  const auto place = from_receipt(name.receipt);
  if (listed || !place) return listed;
  for (const auto set : {Set::kTimed, Set::kReady}) {
    auto found = TRY(read_place(reader, generation, set, *place));
    if (found && found->record.message.id == name.id) return found;
  }
  return std::optional<FoundMessage>();
}

Result<std::optional<Place>> first_timed(const kv::Reader& reader, std::uint64_t generation,
                                         const FiguresRecord& figures, Time until) {
  if (figures.timed() == 0 || figures.timed_front.visible_at > until) return std::nullopt;
  const auto cursor = reader.scan(queue_keys::placed_from(generation, Set::kTimed, figures.timed_front, until));
  TRY(cursor->status());
  return cursor->valid() ? queue_keys::place_in(cursor->key()) : std::nullopt;
}

Result<std::uint64_t> next_generation(kv::Transaction& txn) {
  std::uint64_t generation = 1;
  if (const auto bytes = TRY(txn.get(queue_keys::kGenerations))) {
    std::string_view rest = *bytes;
    const auto last = kv::take_u64(rest);
    if (!last) return fail(corrupt("generations"));
    generation = *last + 1;
  }
  txn.put(queue_keys::kGenerations, kv::key(generation));
  return generation;
}

Result<std::uint64_t> start_generation(kv::Transaction& txn, std::string_view account, std::string_view queue,
                                       QueueRecord record, Time last_immediate) {
  const auto generation = TRY(next_generation(txn));
  record.generation = generation;
  txn.put(queue_keys::queue(account, queue), kQueueRecord.encode(record));
  FiguresRecord figures;
  // Places of different generations differ too: an old receipt cannot fit a message that was moved away and back.
  figures.next_sequence = generation << 32;
  figures.last_immediate = last_immediate;
  txn.put(queue_keys::figures(generation), kFiguresRecord.encode(figures));
  return generation;
}

Result<QueueRows> QueueRows::open(kv::Transaction& txn, Effects& effects, std::string account, std::string queue,
                                  Moment at) {
  auto record = TRY(require_queue(txn, account, queue));
  QueueRows rows(txn, effects, std::move(account), std::move(queue), at);
  rows.part_ = part_in(rows.queue_);
  rows.generation_ = record.generation;
  rows.options_ = record.options;
  auto figures = TRY(read_figures(txn, rows.generation_));
  rows.figures_ = rows.stored_figures_ = figures;
  return rows;
}

Result<QueueRows> QueueRows::open_or_create(kv::Transaction& txn, Effects& effects, std::string account,
                                            std::string queue, Moment at) {
  auto existing = TRY(read_queue(txn, account, queue));
  if (!existing && is_part(queue)) return fail(ErrorCode::kQueueNotFound);
  if (!existing) {
    TRY(start_generation(txn, account, queue, QueueRecord{0, at.now, {}, {}, {}}, Time{}));
  }
  return open(txn, effects, std::move(account), std::move(queue), at);
}

std::string QueueRows::receipt_of(const Place& place) const {
  auto receipt = to_receipt(place);
  return part_ ? with_part(receipt, *part_) : receipt;
}

Place QueueRows::next_place(std::optional<Time> visible_at) {
  if (visible_at) return {*visible_at, figures_.next_sequence++};
  // After a backward jump of the clock, later messages still come after earlier ones.
  figures_.last_immediate = std::max(now_, figures_.last_immediate);
  return {figures_.last_immediate, figures_.next_sequence++};
}

void QueueRows::write_at(const MessageRecord& record, Set set, const Place& place) {
  if (record.listed) {
    const auto group = set == Set::kWaiting ? list_of(record) : std::string();
    txn_->put(queue_keys::by_id(generation_, record.message.id),
              kIdRecord.encode({set, place, group}, 19 + group.size()));
  }
  if (set == Set::kWaiting) {
    txn_->put(queue_keys::waiting(generation_, list_of(record), place.sequence), encode(record));
    ++figures_.waiting;
    return;
  }
  txn_->put(queue_keys::placed(generation_, set, place), encode(record));
  auto& front = set == Set::kReady ? figures_.ready_front : figures_.timed_front;
  const bool first = (set == Set::kReady ? figures_.ready : figures_.timed()) == 0;
  front = first ? place : std::min(front, place);
  ++(set == Set::kReady ? figures_.ready : record.leased ? figures_.leased : figures_.delayed);
}

Place QueueRows::write(MessageRecord& record, std::optional<Time> visible_at) {
  // No later than its expiry: then a walk meets it and lets the next of its group follow.
  if (visible_at && record.grouped) visible_at = std::min(*visible_at, now_ + (record.message.expires - age_));
  const bool immediate = !visible_at || *visible_at <= now_;
  const auto place = next_place(immediate ? std::nullopt : visible_at);
  record.message.next_visible = place.visible_at;
  write_at(record, immediate ? Set::kReady : Set::kTimed, place);
  std::optional<Time> due;
  if (!immediate) due = place.visible_at;
  effects_->arrivals.push_back({account_, part_ ? part_->queue : queue_, due});
  return place;
}

void QueueRows::erase_row(const FoundMessage& found) {
  if (found.set == Set::kWaiting) {
    txn_->erase(queue_keys::waiting(generation_, list_of(found.record), found.place.sequence));
    --figures_.waiting;
    return;
  }
  txn_->erase(queue_keys::placed(generation_, found.set, found.place));
  --(found.set == Set::kReady ? figures_.ready : found.was_leased ? figures_.leased : figures_.delayed);
}

Result<Place> QueueRows::insert(MessageRecord record, std::optional<Time> visible_at) {
  ++figures_.put;
  figures_.new_expiry = std::min(figures_.new_expiry, record.message.expires);
  const bool is_poison = is_poison_queue(queue_);
  record.grouped = !record.message.group.empty() && !is_poison && !record.turns;
  record.turn = TurnState::kNone;
  // A message that was listed before it was moved here is known by its id alone.
  record.listed = record.listed || is_poison;
  if (record.turns && !is_poison) return join_turns(std::move(record), visible_at);
  if (record.grouped) return join_group(std::move(record), visible_at);
  return write(record, visible_at);
}

Result<Place> QueueRows::rewrite(const FoundMessage& old, std::optional<Time> visible_at) {
  erase_row(old);
  auto record = old.record;
  record.receipt.reset();
  if (!record.leased) TRY(end_run(record));
  if (old.set != Set::kWaiting) return write(record, visible_at);
  // It still waits, in its old turn; a delay now counts from its new place.
  Place place = next_place(visible_at);
  record.receipt = place;
  record.message.next_visible = place.visible_at;
  write_at(record, Set::kWaiting, {place.visible_at, old.place.sequence});
  return place;
}

Result<void> QueueRows::remove(const FoundMessage& found) {
  erase_row(found);
  if (found.record.listed) txn_->erase(queue_keys::by_id(generation_, found.record.message.id));
  if (found.record.turns) return leave_turns(found);
  return found.record.grouped ? leave_group(found) : Result<void>{};
}

Result<std::optional<FoundMessage>> QueueRows::find(std::string_view id) const {
  auto found = read_message(*txn_, generation_, id);
  if (found && *found && has_expired((*found)->record.message.expires)) return std::optional<FoundMessage>();
  return found;
}

Result<FoundMessage> QueueRows::find_by_receipt(std::string_view id, std::string_view receipt) const {
  const auto place = from_receipt(receipt);
  if (!place) return fail(ErrorCode::kPopReceiptMismatch);
  bool of_another = false;
  // Mostly it is the receipt of a message in flight, and one row is read.
  for (const auto set : {Set::kTimed, Set::kReady}) {
    auto found = TRY(read_place(*txn_, generation_, set, *place));
    if (!found) continue;
    if (found->record.message.id != id) {
      of_another = true;
    } else if (!has_expired(found->record.message.expires)) {
      return std::move(*found);
    }
  }
  auto listed = TRY(find(id));
  if (listed && listed->record.receipt == place) return std::move(*listed);
  // An earlier receipt of an existing message is reported as the service does: the message is not found there.
  return fail(of_another ? ErrorCode::kPopReceiptMismatch : ErrorCode::kMessageNotFound);
}

void QueueRows::save() {
  if (figures_ != stored_figures_) txn_->put(queue_keys::figures(generation_), kFiguresRecord.encode(figures_, 128));
}

}  // namespace tidemark::queue_service
