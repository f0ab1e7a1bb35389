#include "queue_service/storage/queue_records.h"

#include "common/base/record.h"
#include "common/protocol/stored_policies.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint8_t kVersion = 2;
constexpr std::uint8_t kMessageVersion = 3;
constexpr std::uint8_t kMessageVersionAllListed = 2;  // when every message had a row by id
constexpr std::uint8_t kLeased = 1;                   // bits of MessageRecord's flags
constexpr std::uint8_t kOffered = 2;
constexpr std::uint8_t kGrouped = 4;
constexpr std::uint8_t kHasReceipt = 8;
constexpr std::uint8_t kListed = 16;

void write_time(ByteWriter& out, Time time) { out.i64(time.time_since_epoch().count()); }
Time read_time(ByteReader& in) { return Time(Ticks(in.i64())); }

void write_place(ByteWriter& out, const Place& place) { out.raw(place_bytes(place)); }
Place read_place(ByteReader& in) { return place_from_bytes(in.raw(16)).value_or(Place{}); }

template <class Io, class P>
void place_field(Io& io, P& place) {
  if constexpr (Io::kReads) {
    place = read_place(io.bytes);
  } else {
    write_place(io.bytes, place);
  }
}

bool is_message_version(std::uint8_t version) {
  return version == kMessageVersion || version == kMessageVersionAllListed;
}

constexpr auto kQueue = record_format<QueueRecord>(kVersion, "queue", [](auto& io, auto& record) {
  io.u64(record.generation);
  io.time(record.created);
  io.varint(record.options.max_dequeue_count);
  io.boolean(record.options.paused);
  io.list(record.metadata, [&](auto& entry) {
    io.string(entry.first);
    io.string(entry.second);
  });
  protocol::policy_fields(io, record.acl);
});

constexpr auto kFigures = record_format<FiguresRecord>(kVersion, "figures", [](auto& io, auto& record) {
  for (auto* n : {&record.ready, &record.delayed, &record.leased, &record.waiting, &record.next_sequence, &record.put,
                  &record.taken, &record.finished, &record.moved, &record.expired}) {
    io.varint(*n);
  }
  for (auto* time : {&record.last_immediate, &record.swept_expiry, &record.new_expiry}) io.time(*time);
  place_field(io, record.ready_front);
  place_field(io, record.timed_front);
});

constexpr auto kId = record_format<IdRecord>(kVersion, "id", [](auto& io, auto& record) {
  io.u8(record.set);
  place_field(io, record.place);
  io.string(record.group);
});

constexpr auto kGroup = record_format<GroupRecord>(kVersion, "group", [](auto& io, auto& record) {
  io.varint(record.waiting);
  io.varint(record.front);
});

constexpr auto kIdempotency = record_format<IdempotencyRecord>(kVersion, "idempotency", [](auto& io, auto& record) {
  io.string(record.id);
  io.string(record.text_hash);
  place_field(io, record.place);
  for (auto* time : {&record.inserted, &record.message_expires, &record.row_expires}) io.time(*time);
});

}  // namespace

std::string encode(const QueueRecord& record) { return kQueue.encode(record); }
std::string encode(const FiguresRecord& record) { return kFigures.encode(record, 128); }
std::string encode(const IdRecord& record) { return kId.encode(record, 19 + record.group.size()); }
std::string encode(const GroupRecord& record) { return kGroup.encode(record); }
std::string encode(const IdempotencyRecord& record) { return kIdempotency.encode(record); }

std::string encode(const MessageRecord& record) {
  const auto& message = record.message;
  std::string bytes;
  bytes.reserve(message.id.size() + message.text.size() + message.annotation.size() + message.group.size() + 64 +
                record.deliveries.size() * 8);
  ByteWriter out(bytes);
  out.u8(kMessageVersion);
  out.u8(static_cast<std::uint8_t>((record.leased ? kLeased : 0) | (record.offered ? kOffered : 0) |
                                   (record.grouped ? kGrouped : 0) | (record.receipt ? kHasReceipt : 0) |
                                   (record.listed ? kListed : 0)));
  write_time(out, message.expires);
  write_time(out, message.inserted);
  out.string(message.id);
  out.varint(message.dequeue_count);
  out.varint(message.epoch);
  out.varint(record.renewal);
  if (record.receipt) write_place(out, *record.receipt);
  out.varint(record.deliveries.size());
  for (const auto time : record.deliveries) write_time(out, time);
  out.string(message.group);
  out.string(message.text);
  out.string(message.annotation);
  return bytes;
}

Result<QueueRecord> decode_queue(std::string_view bytes) { return kQueue.decode(bytes); }
Result<FiguresRecord> decode_figures(std::string_view bytes) { return kFigures.decode(bytes); }
Result<GroupRecord> decode_group(std::string_view bytes) { return kGroup.decode(bytes); }
Result<IdempotencyRecord> decode_idempotency(std::string_view bytes) { return kIdempotency.decode(bytes); }

Result<IdRecord> decode_id(std::string_view bytes) {
  auto record = kId.decode(bytes);
  if (!record) return record;
  const bool known = record->set == Set::kReady || record->set == Set::kTimed || record->set == Set::kWaiting;
  if (!known) return corrupt_record("id");
  return record;
}

Result<MessageRecord> decode_message(std::string_view bytes) {
  ByteReader in(bytes);
  MessageRecord record;
  const auto version = in.u8();
  if (!is_message_version(version)) return corrupt_record("message");
  const auto flags = in.u8();
  record.leased = (flags & kLeased) != 0;
  record.offered = (flags & kOffered) != 0;
  record.grouped = (flags & kGrouped) != 0;
  record.listed = (flags & kListed) != 0 || version == kMessageVersionAllListed;
  record.message.expires = read_time(in);
  record.message.inserted = read_time(in);
  record.message.id = in.string();
  record.message.dequeue_count = static_cast<std::uint32_t>(in.varint());
  record.message.epoch = in.varint();
  record.renewal = in.varint();
  if ((flags & kHasReceipt) != 0) record.receipt = read_place(in);
  for (auto n = in.varint(); n > 0 && in.ok(); --n) record.deliveries.push_back(read_time(in));
  record.message.group = in.string();
  record.message.text = in.string();
  record.message.annotation = in.string();
  if (!in.finished()) return corrupt_record("message");
  return record;
}

Result<MessageGlance> glance_at(std::string_view message_record) {
  ByteReader in(message_record);
  if (!is_message_version(in.u8())) return corrupt_record("message");
  MessageGlance glance;
  glance.leased = (in.u8() & kLeased) != 0;
  glance.expires = read_time(in);
  if (!in.ok()) return corrupt_record("message");
  return glance;
}

}  // namespace tidemark::queue_service
