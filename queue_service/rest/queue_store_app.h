// The queue service as a process: its two faces over one QueueService.
#pragma once
#include <memory>

#include "common/service/store_process.h"

namespace tidemark::queue_service {
std::unique_ptr<service::Store> make_queue_store(service::StoreContext& context);
}  // namespace tidemark::queue_service
