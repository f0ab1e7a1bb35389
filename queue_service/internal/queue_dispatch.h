// The server side of queue_client.h.
#pragma once
#include <optional>
#include <string_view>

#include "common/rpc/transport.h"

namespace tidemark::queue_service {
class QueueService;
/// The shard that a call belongs to, and the longest time that it takes; nothing: it can be answered anywhere.
struct CallOfShard {
  std::size_t shard = 0;
  Duration longest{};
};
std::optional<CallOfShard> shard_of_call(const QueueService& service, std::string_view method,
                                         std::string_view payload);
/// `service` must outlive the dispatch.
rpc::Dispatch make_queue_dispatch(QueueService& service);
/// Gives a message back at once, without counting an attempt, if its caller is gone when the reply comes. `dispatch`
/// answers the service's calls.
rpc::UndeliveredHook make_undelivered_hook(rpc::Dispatch dispatch);
}  // namespace tidemark::queue_service
