// The queue service for its process, and the settings that only it has.
#pragma once
#include "common/service/store_process.h"

namespace tidemark::queue_service {

struct QueueSettings {
  std::int64_t max_waiters = 10000;
  std::int64_t upkeep_interval_s = 60;
  std::int64_t metrics_max_queues = 200;
};

void declare_settings(process::Settings& settings, QueueSettings& values);
std::unique_ptr<service::Store> make_queue_store(service::StoreContext& context, const QueueSettings& settings);

}  // namespace tidemark::queue_service
