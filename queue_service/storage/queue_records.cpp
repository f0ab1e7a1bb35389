#include "queue_service/storage/queue_records.h"

#include "common/base/bytes.h"
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

bool is_message_version(std::uint8_t version) {
  return version == kMessageVersion || version == kMessageVersionAllListed;
}

Error corrupt(std::string_view what) {
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "record=" + std::string(what);
  return error;
}

}  // namespace

std::string encode(const QueueRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u64(record.generation);
  write_time(out, record.created);
  out.varint(record.options.max_dequeue_count);
  out.boolean(record.options.paused);
  out.varint(record.metadata.size());
  for (const auto& [name, value] : record.metadata) {
    out.string(name);
    out.string(value);
  }
  protocol::write_policies(out, record.acl);
  return bytes;
}

std::string encode(const FiguresRecord& record) {
  std::string bytes;
  bytes.reserve(128);
  ByteWriter out(bytes);
  out.u8(kVersion);
  for (const auto n : {record.ready, record.delayed, record.leased, record.waiting, record.next_sequence, record.put,
                       record.taken, record.finished, record.moved, record.expired}) {
    out.varint(n);
  }
  for (const auto time : {record.last_immediate, record.swept_expiry, record.new_expiry}) write_time(out, time);
  write_place(out, record.ready_front);
  write_place(out, record.timed_front);
  return bytes;
}

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

std::string encode(const IdRecord& record) {
  std::string bytes;
  bytes.reserve(19 + record.group.size());
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>(record.set));
  write_place(out, record.place);
  out.string(record.group);
  return bytes;
}

std::string encode(const GroupRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.varint(record.waiting);
  out.varint(record.front);
  return bytes;
}

std::string encode(const IdempotencyRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.string(record.id);
  out.string(record.text_hash);
  write_place(out, record.place);
  for (const auto time : {record.inserted, record.message_expires, record.row_expires}) write_time(out, time);
  return bytes;
}

Result<QueueRecord> decode_queue(std::string_view bytes) {
  ByteReader in(bytes);
  QueueRecord record;
  if (in.u8() != kVersion) return fail(corrupt("queue"));
  record.generation = in.u64();
  record.created = read_time(in);
  record.options.max_dequeue_count = static_cast<std::uint32_t>(in.varint());
  record.options.paused = in.boolean();
  for (auto n = in.varint(); n > 0 && in.ok(); --n) {
    std::string name(in.string());
    record.metadata.emplace_back(std::move(name), std::string(in.string()));
  }
  record.acl = protocol::read_policies(in);
  if (!in.finished()) return fail(corrupt("queue"));
  return record;
}

Result<FiguresRecord> decode_figures(std::string_view bytes) {
  ByteReader in(bytes);
  FiguresRecord record;
  if (in.u8() != kVersion) return fail(corrupt("figures"));
  for (auto* n : {&record.ready, &record.delayed, &record.leased, &record.waiting, &record.next_sequence, &record.put,
                  &record.taken, &record.finished, &record.moved, &record.expired}) {
    *n = in.varint();
  }
  for (auto* time : {&record.last_immediate, &record.swept_expiry, &record.new_expiry}) *time = read_time(in);
  record.ready_front = read_place(in);
  record.timed_front = read_place(in);
  if (!in.finished()) return fail(corrupt("figures"));
  return record;
}

Result<MessageRecord> decode_message(std::string_view bytes) {
  ByteReader in(bytes);
  MessageRecord record;
  const auto version = in.u8();
  if (!is_message_version(version)) return fail(corrupt("message"));
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
  if (!in.finished()) return fail(corrupt("message"));
  return record;
}

Result<MessageGlance> glance_at(std::string_view message_record) {
  ByteReader in(message_record);
  if (!is_message_version(in.u8())) return fail(corrupt("message"));
  MessageGlance glance;
  glance.leased = (in.u8() & kLeased) != 0;
  glance.expires = read_time(in);
  if (!in.ok()) return fail(corrupt("message"));
  return glance;
}

Result<IdRecord> decode_id(std::string_view bytes) {
  ByteReader in(bytes);
  IdRecord record;
  if (in.u8() != kVersion) return fail(corrupt("id"));
  record.set = static_cast<Set>(in.u8());
  record.place = read_place(in);
  record.group = in.string();
  const bool known = record.set == Set::kReady || record.set == Set::kTimed || record.set == Set::kWaiting;
  if (!in.finished() || !known) return fail(corrupt("id"));
  return record;
}

Result<GroupRecord> decode_group(std::string_view bytes) {
  ByteReader in(bytes);
  GroupRecord record;
  if (in.u8() != kVersion) return fail(corrupt("group"));
  record.waiting = in.varint();
  record.front = in.varint();
  if (!in.finished()) return fail(corrupt("group"));
  return record;
}

Result<IdempotencyRecord> decode_idempotency(std::string_view bytes) {
  ByteReader in(bytes);
  IdempotencyRecord record;
  if (in.u8() != kVersion) return fail(corrupt("idempotency"));
  record.id = in.string();
  record.text_hash = in.string();
  record.place = read_place(in);
  for (auto* time : {&record.inserted, &record.message_expires, &record.row_expires}) *time = read_time(in);
  if (!in.finished()) return fail(corrupt("idempotency"));
  return record;
}

}  // namespace tidemark::queue_service
