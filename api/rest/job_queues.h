// The queues of jobs that are there.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::api {

/// Figures of more queues are not added up.
inline constexpr std::size_t kMostJobQueues = 100;

/// At most kMostJobQueues, without that of poison.
Task<Result<std::vector<std::string>>> job_queues(queue_service::QueueClient& queues);

}  // namespace tidemark::api
