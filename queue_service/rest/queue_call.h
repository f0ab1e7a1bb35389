// One request of the queue protocol, taken apart: the resource that it names, its parameters, who asks.
#pragma once
#include <string>

#include "common/protocol/responses.h"
#include "common/service/front.h"
#include "queue_service/storage/queue_service.h"

namespace tidemark::queue_service::rest {

using protocol::empty_response;
using protocol::xml_response;
using service::Answer;

struct Call : service::Call {
  Call(service::Front& face, http::Request& request, QueueService& queues)
      : service::Call(face, request), service(queues) {}

  QueueService& service;
  std::string queue;      // empty: the account
  bool messages = false;  // .../messages[/id]
  std::string message_id;

  /// See protocol::number_parameter.
  [[nodiscard]] Result<std::optional<std::int64_t>> number(std::string_view name, std::int64_t min,
                                                           std::int64_t max) const;
};

/// Splits what follows the account: "", "queue", "queue/messages", "queue/messages/id". kInvalidUri.
Result<void> split_resource(std::string_view rest, Call& call);

/// With Cache-Control, as all documents of this service.
http::Response uncached(http::Response response);

}  // namespace tidemark::queue_service::rest
