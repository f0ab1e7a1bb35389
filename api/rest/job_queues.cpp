#include "api/rest/job_queues.h"

#include "jobs/spec/job_queues.h"

namespace tidemark::api {

Task<Result<std::vector<std::string>>> job_queues(queue_service::QueueClient& queues) {
  auto names = CO_TRY(co_await queues.list_queues(std::string(jobs::kJobQueue)));
  for (auto& name : CO_TRY(co_await queues.list_queues(std::string(jobs::kWorkPrefix))))
    names.push_back(std::move(name));
  std::erase_if(names, [](const std::string& name) { return !jobs::is_job_queue(name); });
  if (names.size() > kMostJobQueues) names.resize(kMostJobQueues);
  co_return names;
}

}  // namespace tidemark::api
