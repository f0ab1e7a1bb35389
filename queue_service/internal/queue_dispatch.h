// The server side of queue_client.h.
#pragma once
#include "common/rpc/transport.h"

namespace tidemark::queue_service {
class QueueService;
/// `service` must outlive the dispatch.
rpc::Dispatch make_queue_dispatch(QueueService& service);
/// Gives a message back at once, without counting an attempt, if its caller is gone when the reply comes. `dispatch`
/// answers the service's calls.
rpc::UndeliveredHook make_undelivered_hook(rpc::Dispatch dispatch);
}  // namespace tidemark::queue_service
