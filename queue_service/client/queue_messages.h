// The bytes of calls to the queue service: base/bytes.h, one request and one reply per method. Both sides of a call use
// these functions, so that they agree. Method names: "queue.put" and so on.
#pragma once
#include <string>
#include <string_view>

#include "common/base/bytes.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::queue_service::wire {

void write(ByteWriter& out, const Message& message);
Message read_message(ByteReader& in);
void write(ByteWriter& out, const std::optional<std::string>& value);
std::optional<std::string> read_optional(ByteReader& in);
void write(ByteWriter& out, const QueueFigures& figures);
QueueFigures read_figures(ByteReader& in);
void write(ByteWriter& out, const PutOptions& options);
/// Within the bounds of the protocol, whatever was sent.
PutOptions read_put_options(ByteReader& in);
void write(ByteWriter& out, Duration value);
Duration read_duration(ByteReader& in);

}  // namespace tidemark::queue_service::wire
