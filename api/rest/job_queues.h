// Lists the queues of jobs that exist.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::api {

/// The figures of more queues than this are not added up.
inline constexpr std::size_t kMostJobQueues = 100;

/// Returns at most kMostJobQueues, without the queue for poison.
Task<Result<std::vector<std::string>>> job_queues(queue_service::QueueClient& queues);

}  // namespace tidemark::api
