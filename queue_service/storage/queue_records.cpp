#include "queue_service/storage/queue_records.h"

#include "common/base/bytes.h"

namespace tidemark::queue_service {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kImmediate = 1;  // bits of MessageRecord's flags
constexpr std::uint8_t kLeased = 2;

void write_time(ByteWriter& out, Time time) { out.i64(time.time_since_epoch().count()); }
Time read_time(ByteReader& in) { return Time(Ticks(in.i64())); }

void write_optional(ByteWriter& out, const std::optional<std::string>& value) {
  out.boolean(value.has_value());
  if (value) out.string(*value);
}
std::optional<std::string> read_optional(ByteReader& in) {
  if (!in.boolean()) return std::nullopt;
  return std::string(in.string());
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
  out.varint(record.metadata.size());
  for (const auto& [name, value] : record.metadata) {
    out.string(name);
    out.string(value);
  }
  out.varint(record.acl.size());
  for (const auto& policy : record.acl) {
    out.string(policy.id);
    write_optional(out, policy.start);
    write_optional(out, policy.expiry);
    write_optional(out, policy.permission);
  }
  return bytes;
}

std::string encode(const FiguresRecord& record) {
  std::string bytes;
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u64(record.messages);
  out.u64(record.next_sequence);
  write_time(out, record.last_immediate);
  return bytes;
}

std::string encode(const MessageRecord& record) {
  const auto& message = record.message;
  std::string bytes;
  bytes.reserve(message.id.size() + message.text.size() + message.annotation.size() + 48);
  ByteWriter out(bytes);
  out.u8(kVersion);
  out.u8(static_cast<std::uint8_t>((record.immediate ? kImmediate : 0) | (record.leased ? kLeased : 0)));
  out.string(message.id);
  write_time(out, message.inserted);
  write_time(out, message.expires);
  out.varint(message.dequeue_count);
  out.varint(message.epoch);
  out.string(message.text);
  out.string(message.annotation);
  return bytes;
}

Result<QueueRecord> decode_queue(std::string_view bytes) {
  ByteReader in(bytes);
  QueueRecord record;
  if (in.u8() != kVersion) return fail(corrupt("queue"));
  record.generation = in.u64();
  record.created = read_time(in);
  for (auto n = in.varint(); n > 0 && in.ok(); --n) {
    std::string name(in.string());
    record.metadata.emplace_back(std::move(name), std::string(in.string()));
  }
  for (auto n = in.varint(); n > 0 && in.ok(); --n) {
    SignedIdentifier policy;
    policy.id = in.string();
    policy.start = read_optional(in);
    policy.expiry = read_optional(in);
    policy.permission = read_optional(in);
    record.acl.push_back(std::move(policy));
  }
  if (!in.finished()) return fail(corrupt("queue"));
  return record;
}

Result<FiguresRecord> decode_figures(std::string_view bytes) {
  ByteReader in(bytes);
  FiguresRecord record;
  if (in.u8() != kVersion) return fail(corrupt("figures"));
  record.messages = in.u64();
  record.next_sequence = in.u64();
  record.last_immediate = read_time(in);
  if (!in.finished()) return fail(corrupt("figures"));
  return record;
}

Result<MessageRecord> decode_message(std::string_view bytes) {
  ByteReader in(bytes);
  MessageRecord record;
  if (in.u8() != kVersion) return fail(corrupt("message"));
  const auto flags = in.u8();
  record.immediate = (flags & kImmediate) != 0;
  record.leased = (flags & kLeased) != 0;
  record.message.id = in.string();
  record.message.inserted = read_time(in);
  record.message.expires = read_time(in);
  record.message.dequeue_count = static_cast<std::uint32_t>(in.varint());
  record.message.epoch = in.varint();
  record.message.text = in.string();
  record.message.annotation = in.string();
  if (!in.finished()) return fail(corrupt("message"));
  return record;
}

}  // namespace tidemark::queue_service
