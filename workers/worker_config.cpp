#include "workers/worker_config.h"

namespace tidemark::workers {

void declare_settings(process::Settings& settings, WorkerConfig& config) {
  settings.add("data", config.data, "data directory of the stack; the stores' sockets are in its run folder");
  settings.add("name", config.name,
               "name of this worker in job records, logs and the run folder; empty: worker-HOST-PID");
  settings.add("account", config.account, "account whose jobs this worker carries out");
  settings.add("job_accounts", config.job_accounts,
               "further accounts that archive, unarchive and copy jobs may name: account,account; empty: none");
  settings.add("priorities", config.priorities,
               "priorities of the jobs that this worker takes; it leaves the others to other workers: high,normal");
  settings.add("queues", config.queues,
               "queues that this worker takes jobs from, by name: default stands for those of the priorities; "
               "default,heavy");
  settings.add("concurrency", config.concurrency, 1, 256, "jobs at once");
  settings.add("lease_s", config.lease_s, 2, 3600,
               "length of a lease: another worker continues a crashed worker's job after this time");
  settings.add("poll_s", config.poll_s, 1, 30, "length of a long poll for jobs");
  settings.add("retry_base_ms", config.retry_base_ms, 1, 3'600'000, "greatest delay before the first retry");
  settings.add("retry_cap_ms", config.retry_cap_ms, 1, 86'400'000, "greatest delay before any retry");
  settings.add("drain_s", config.drain_s, 0, 3600,
               "time for running jobs to finish after SIGTERM; then they are given back");
  settings.add("retention_h", config.retention_h, 2, 87'600, "how long records of finished jobs are kept");
  settings.add("audit_retention_h", config.audit_retention_h, 24, 876'000,
               "how long entries of the audit trail are kept");
  settings.add("collect_every_s", config.collect_every_s, 1, 86'400, "time between collections of old records");
  settings.add("analytics_collect_s", config.analytics_collect_s, 1, 3600,
               "how often the logs and metrics of requests are collected from the stores, for accounts that want them");
  settings.add("archive_directories", config.archive_directories,
               "directories that archive jobs may name: name=path,name=path");
  settings.add("archive_grace_s", config.archive_grace_s, 0, 31'536'000,
               "age at which a file of an archive directory that counts for nothing goes into quarantine");
  settings.add("archive_quarantine_s", config.archive_quarantine_s, 0, 31'536'000,
               "time that it stays there before it is removed");
  settings.add("callback_hosts", config.callback_hosts,
               "hosts that callbacks may go to: NAME, *.SUFFIX, address or *, each with :PORT or :*; empty: none");
  settings.add("callback_private_hosts", config.callback_private_hosts,
               "those of them that may be at a loopback, private or other special address");
  settings.add("callback_http_hosts", config.callback_http_hosts, "those of them that may be called without TLS");
  settings.add(
      "callback_secrets", config.callback_secrets,
      "secrets that sign callbacks, needed with callback_hosts: NAME=whsec_BASE64, or whsec_BASE64 for the name "
      "default; if a name is given twice, both sign",
      true);
  settings.add("callback_ca_file", config.callback_ca_file, "certificates (PEM) to trust in addition to the system's");
  settings.add("metrics", config.metrics, "serve /metrics, /healthz and /readyz over HTTP");
  settings.add("metrics_host", config.metrics_host, "address to serve metrics on");
  settings.add("token", config.token,
               "bearer token that /metrics needs beyond loopback; empty: the one in DATA/run/token, made if absent",
               true);
  settings.add("metrics_port", config.metrics_port, 0, 65535, "port to serve metrics on; 0 takes any free one");
  service::declare(settings, config.stores);
  tracing::declare(settings, config.tracing);
  process::declare(settings, config.log);
}

WorkerOptions worker_options(const WorkerConfig& config) {
  WorkerOptions options;
  options.runner.worker_name = config.name;
  options.runner.traces = !config.tracing.otlp_endpoint.empty();
  options.runner.lease = std::chrono::seconds(config.lease_s);
  options.runner.retry.base = std::chrono::milliseconds(config.retry_base_ms);
  options.runner.retry.cap = std::chrono::milliseconds(std::max(config.retry_cap_ms, config.retry_base_ms));
  options.concurrency = static_cast<std::size_t>(config.concurrency);
  options.poll = std::chrono::seconds(config.poll_s);
  return options;
}

AnalyticsOptions analytics_options(const WorkerConfig& config) {
  return {.worker = config.name, .collect_every = std::chrono::seconds(config.analytics_collect_s)};
}

HousekeepingOptions housekeeping_options(const WorkerConfig& config, jobs::WorkerInfo self) {
  HousekeepingOptions options;
  options.self = std::move(self);
  options.retention = std::chrono::hours(config.retention_h);
  options.audit_retention = std::chrono::hours(config.audit_retention_h);
  options.collect_every = std::chrono::seconds(config.collect_every_s);
  options.archive_grace = std::chrono::seconds(config.archive_grace_s);
  options.archive_quarantine = std::chrono::seconds(config.archive_quarantine_s);
  options.schedule_hold = std::chrono::seconds(config.lease_s);
  return options;
}

}  // namespace tidemark::workers
