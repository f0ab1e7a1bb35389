// One request of the queue protocol, parsed: its resource, its parameters and its caller.
#pragma once
#include <string>

#include "common/protocol/responses.h"
#include "common/service/front.h"
#include "queue_service/storage/served_calls.h"

namespace tidemark::queue_service::rest {

using protocol::empty_response;
using protocol::xml_response;
using service::Answer;

/// The path after the account: "", "queue", "queue/messages", "queue/messages/id".
struct Target {
  std::string queue;      // empty for the account
  bool messages = false;  // .../messages[/id]
  std::string message_id;
};
/// kInvalidUri.
Result<Target> parse_target(std::string_view rest);

struct Call : service::Call {
  Call(service::Front& face, http::Request& request, QueueService& queues)
      : service::Call(face, request), service(queues) {}

  QueueService& service;
  Target target;
  bool read = false;  // whether the target has been parsed

  /// See protocol::number_parameter.
  [[nodiscard]] Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t min,
                                                           std::int64_t max) const;
};

/// Adds Cache-Control, which all documents of this service have.
http::Response uncached(http::Response response);

}  // namespace tidemark::queue_service::rest
