// The server's side of queue_client.h.
#pragma once
#include "common/rpc/transport.h"

namespace tidemark::queue_service {
class QueueService;
/// `service` must outlive the dispatch.
rpc::Dispatch make_queue_dispatch(QueueService& service);
}  // namespace tidemark::queue_service
