// Settings of the worker process.
#pragma once
#include <cstdint>
#include <string>

#include "common/process/config.h"
#include "common/process/process.h"
#include "common/service/other_hosts.h"
#include "common/tracing/tracer.h"
#include "workers/analytics/collector.h"
#include "workers/runtime/worker_loop.h"
#include "workers/upkeep/housekeeping.h"

namespace tidemark::workers {

struct WorkerConfig {
  std::string data = "data";
  std::string name;  // empty: process::unique_name("worker")
  std::string account = "devstoreaccount1";
  std::string priorities{kAllPriorities};
  std::string job_accounts;
  std::string queues{jobs::kDefaultQueue};
  std::int64_t concurrency = 4;
  std::int64_t lease_s = 30;
  std::int64_t poll_s = 20;
  std::int64_t retry_base_ms = 1000;
  std::int64_t retry_cap_ms = 60'000;
  std::int64_t drain_s = 20;
  std::int64_t retention_h = 168;
  std::int64_t audit_retention_h = 9600;
  std::int64_t collect_every_s = 600;
  std::int64_t analytics_collect_s = 30;
  std::int64_t archive_grace_s = 3600;
  std::int64_t archive_quarantine_s = 86'400;
  std::string archive_directories;  // "name=path,name=path"
  std::string callback_hosts;
  std::string callback_private_hosts;
  std::string callback_http_hosts;
  std::string callback_secrets;
  std::string callback_ca_file;
  bool metrics = false;
  std::string metrics_host = "127.0.0.1";
  std::int64_t metrics_port = 0;
  std::string token;
  service::StoreAddresses stores;
  tracing::TracingSettings tracing;
  process::LogOptions log;
};

void declare_settings(process::Settings& settings, WorkerConfig& config);
WorkerOptions worker_options(const WorkerConfig& config);
AnalyticsOptions analytics_options(const WorkerConfig& config);
HousekeepingOptions housekeeping_options(const WorkerConfig& config, jobs::WorkerInfo self);

}  // namespace tidemark::workers
