// Whether what a queue service holds fits together: every row reads and belongs to a queue, the figures are the sizes
// of the sets, and messages and the rows that name them agree. Calls block.
#pragma once
#include "common/kv/check.h"

namespace tidemark::queue_service {

Result<void> check_queues(const kv::Engine& engine, kv::CheckRun& run);

}  // namespace tidemark::queue_service
