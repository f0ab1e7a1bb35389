#include "queue_service/storage/queue_records.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint8_t kMessageVersion = 3;
constexpr std::uint8_t kMessageVersionAllListed = 2;  // from when every message had a row by id
constexpr std::uint8_t kLeased = 1;                   // bits of MessageRecord's flags
constexpr std::uint8_t kOffered = 2;
constexpr std::uint8_t kGrouped = 4;
constexpr std::uint8_t kHasReceipt = 8;
constexpr std::uint8_t kListed = 16;
constexpr std::uint8_t kHasOriginal = 32;
constexpr std::uint8_t kTurns = 64;

/// The fields after the version and the flags.
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
  if (message.original) io.string(*message.original);
  if (record.turns) io.u8(record.turn);
}

bool is_message_version(std::uint8_t version) {
  return version == kMessageVersion || version == kMessageVersionAllListed;
}

}  // namespace

std::string encode(const MessageRecord& record) {
  const auto& message = record.message;
  std::string bytes;
  bytes.reserve(message.id.size() + message.text.size() + message.annotation.size() + message.group.size() + 64 +
                record.deliveries.size() * 8);
  RecordWriter io(bytes);
  io.u8(kMessageVersion);
  io.u8((record.leased ? kLeased : 0) | (record.offered ? kOffered : 0) | (record.grouped ? kGrouped : 0) |
        (record.receipt ? kHasReceipt : 0) | (record.listed ? kListed : 0) | (message.original ? kHasOriginal : 0) |
        (record.turns ? kTurns : 0));
  message_fields(io, record);
  return bytes;
}

Result<IdRecord> decode_id(std::string_view bytes) {
  auto record = kIdRecord.decode(bytes);
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
  record.turns = (flags & kTurns) != 0;
  if ((flags & kHasReceipt) != 0) record.receipt.emplace();
  if ((flags & kHasOriginal) != 0) record.message.original.emplace();
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
