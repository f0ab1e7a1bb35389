#include "queue_service/internal/queue_messages.h"

namespace tidemark::queue_service::wire {

void write(ByteWriter& out, Duration value) { out.i64(value.count()); }
Duration read_duration(ByteReader& in) { return Duration(in.i64()); }

void write(ByteWriter& out, const std::optional<std::string>& value) {
  out.boolean(value.has_value());
  if (value) out.string(*value);
}
std::optional<std::string> read_optional(ByteReader& in) {
  if (!in.boolean()) return std::nullopt;
  return std::string(in.string());
}

void write(ByteWriter& out, const Message& message) {
  out.string(message.id);
  out.string(message.text);
  out.string(message.annotation);
  write(out, message.inserted.time_since_epoch());
  write(out, message.expires.time_since_epoch());
  write(out, message.next_visible.time_since_epoch());
  out.varint(message.dequeue_count);
  out.varint(message.epoch);
}

Message read_message(ByteReader& in) {
  Message message;
  message.id = in.string();
  message.text = in.string();
  message.annotation = in.string();
  message.inserted = Time(read_duration(in));
  message.expires = Time(read_duration(in));
  message.next_visible = Time(read_duration(in));
  message.dequeue_count = static_cast<std::uint32_t>(in.varint());
  message.epoch = in.varint();
  return message;
}

}  // namespace tidemark::queue_service::wire
