#include "queue_service/client/queue_messages.h"

#include <algorithm>

#include "queue_service/model/queue_rules.h"

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
  out.string(message.group);
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
  message.group = in.string();
  return message;
}

void write(ByteWriter& out, const QueueFigures& figures) {
  for (const auto n : {figures.messages, figures.ready, figures.delayed, figures.in_flight, figures.waiting,
                       figures.poison, figures.put, figures.taken, figures.finished, figures.moved, figures.expired}) {
    out.varint(n);
  }
  write(out, figures.oldest);
  out.f64(figures.in_rate);
  out.f64(figures.out_rate);
  out.boolean(figures.paused);
  out.varint(figures.max_dequeue_count);
}

QueueFigures read_figures(ByteReader& in) {
  QueueFigures figures;
  for (auto* n : {&figures.messages, &figures.ready, &figures.delayed, &figures.in_flight, &figures.waiting,
                  &figures.poison, &figures.put, &figures.taken, &figures.finished, &figures.moved, &figures.expired}) {
    *n = in.varint();
  }
  figures.oldest = read_duration(in);
  figures.in_rate = in.f64();
  figures.out_rate = in.f64();
  figures.paused = in.boolean();
  figures.max_dequeue_count = static_cast<std::uint32_t>(in.varint());
  return figures;
}

void write(ByteWriter& out, const PutOptions& options) {
  write(out, options.delay);
  out.boolean(options.time_to_live.has_value());
  if (options.time_to_live) write(out, *options.time_to_live);
  out.string(options.group);
  out.string(options.idempotency_key);
  write(out, options.retention);
}

PutOptions read_put_options(ByteReader& in) {
  PutOptions options;
  options.delay = std::clamp(read_duration(in), Duration::zero(), kMaxVisibility);
  if (in.boolean()) options.time_to_live = std::max(read_duration(in), Duration(1));
  options.group = in.string();
  options.idempotency_key = in.string();
  options.retention = std::clamp(read_duration(in), Duration(1), kMaxIdempotencyRetention);
  return options;
}

}  // namespace tidemark::queue_service::wire
