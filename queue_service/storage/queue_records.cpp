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

template <class Io, class P>
void place_field(Io& io, P& place) {
  if constexpr (Io::kReads) {
    place = place_from_bytes(io.bytes.raw(16)).value_or(Place{});
  } else {
    io.bytes.raw(place_bytes(place));
  }
}

/// What follows the version and the flags.
template <class Io, class Record>
void message_fields(Io& io, Record& record) {
  auto& message = record.message;
  io.time(message.expires);  // first, for glance_at()
  io.time(message.inserted);
  io.string(message.id);
  io.varint(message.dequeue_count);
  io.varint(message.epoch);
  io.varint(record.renewal);
  if (record.receipt) place_field(io, *record.receipt);
  io.list(record.deliveries, [&](auto& time) { io.time(time); });
  for (auto* text : {&message.group, &message.text, &message.annotation}) io.string(*text);
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
  RecordWriter io(bytes);
  io.u8(kMessageVersion);
  io.u8((record.leased ? kLeased : 0) | (record.offered ? kOffered : 0) | (record.grouped ? kGrouped : 0) |
        (record.receipt ? kHasReceipt : 0) | (record.listed ? kListed : 0));
  message_fields(io, record);
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
  RecordReader io(bytes);
  MessageRecord record;
  const auto version = io.bytes.u8();
  if (!is_message_version(version)) return corrupt_record("message");
  const auto flags = io.bytes.u8();
  record.leased = (flags & kLeased) != 0;
  record.offered = (flags & kOffered) != 0;
  record.grouped = (flags & kGrouped) != 0;
  record.listed = (flags & kListed) != 0 || version == kMessageVersionAllListed;
  if ((flags & kHasReceipt) != 0) record.receipt.emplace();
  message_fields(io, record);
  if (!io.bytes.finished()) return corrupt_record("message");
  return record;
}

Result<MessageGlance> glance_at(std::string_view message_record) {
  RecordReader io(message_record);
  if (!is_message_version(io.bytes.u8())) return corrupt_record("message");
  MessageGlance glance;
  glance.leased = (io.bytes.u8() & kLeased) != 0;
  io.time(glance.expires);
  if (!io.bytes.ok()) return corrupt_record("message");
  return glance;
}

}  // namespace tidemark::queue_service
