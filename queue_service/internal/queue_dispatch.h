// The server's side of queue_client.h.
#pragma once
#include "common/rpc/transport.h"

namespace tidemark::queue_service {
class QueueService;
/// `service` must outlive the dispatch.
rpc::Dispatch make_queue_dispatch(QueueService& service);
/// A message that was given to a caller who is gone by then goes back at once, and that was no attempt.
rpc::UndeliveredHook make_undelivered_hook(QueueService& service);
}  // namespace tidemark::queue_service
