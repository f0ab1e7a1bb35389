// Checks that the data of a queue service is consistent: every row reads and belongs to a queue, the figures are the
// sizes of the sets, and messages and the rows that name them agree. Calls block.
#pragma once
#include "common/kv/check.h"

namespace tidemark::queue_service {

Result<void> check_queues(const kv::Engine& engine, kv::CheckRun& run);

}  // namespace tidemark::queue_service
