// The worker process: wiring only.
#include <unistd.h>

#include <array>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdio>
#include <filesystem>
#include <future>

#include "common/auth/bearer_token.h"
#include "common/base/log.h"
#include "common/http/server.h"
#include "common/process/metrics.h"
#include "common/process/unique_name.h"
#include "common/service/metrics_access.h"
#include "common/service/other_hosts.h"
#include "common/service/store_process.h"
#include "jobs/spec/job_trace.h"
#include "jobs/spec/spec_members.h"
#include "workers/analytics/collector.h"
#include "workers/indexes/keeper.h"
#include "workers/kinds/callback.h"
#include "workers/on_change/on_change_owner.h"
#include "workers/outbound/curl_http.h"
#include "workers/upkeep/housekeeping.h"
#include "workers/worker_config.h"

namespace {

using namespace tidemark;           // NOLINT(google-build-using-namespace): the program's own file
using namespace tidemark::workers;  // NOLINT(google-build-using-namespace)

constexpr std::size_t kFileThreads = 4;
constexpr auto kReadyRetry = std::chrono::milliseconds(100);

/// Returns when both stores answer and the jobs' table and queues exist.
Task<void> wait_until_ready(jobs::JobStore& jobs, Clock& clock) {
  ErrorCode told = ErrorCode::kInvalidInput;
  while (true) {
    const auto done = co_await jobs.ensure_ready();
    if (done) co_return;
    if (done.error().code != told) log_warning("waiting for the stores: {}", done.error().message);
    told = done.error().code;
    co_await sleep_for(clock, kReadyRetry);
  }
}

/// Ends the span of this delivery and, if it was the last, of the job.
void end_spans(tracing::Tracer& tracer, const RunReport& report, Duration took) {
  if (!tracer.on() || !report.submitted_by.sampled) return;
  const auto job = jobs::job_trace(report.submitted_by, report.job_id);
  const auto now = tracer.clock().now();
  tracing::Span delivery;
  delivery.context = jobs::delivery_trace(report.submitted_by, report.job_id, report.epoch);
  delivery.parent = job.span_id();
  delivery.name = "deliver " + report.kind;
  delivery.kind = tracing::SpanKind::kConsumer;
  delivery.begun = now - took;
  delivery.ended = now;
  delivery.attributes = {{"tidemark.job_id", report.job_id},
                         {"tidemark.job_kind", report.kind},
                         {"tidemark.delivery", static_cast<std::int64_t>(report.epoch)},
                         {"tidemark.delivery_end", std::string(end_name(report.end))}};
  delivery.failed = report.error.has_value();
  if (report.error) delivery.error = azure_name_of(report.error->code);
  const bool over = report.end == RunEnd::kSucceeded || report.end == RunEnd::kPoisoned;
  auto whole = delivery;
  tracer.end(std::move(delivery));
  if (!over) return;
  whole.context = job;
  whole.parent = report.submitted_by.span_id();
  whole.name = "job " + report.kind;
  whole.kind = tracing::SpanKind::kInternal;
  whole.begun = report.put;
  whole.failed = report.end == RunEnd::kPoisoned;
  if (!whole.failed) whole.error.clear();
  tracer.end(std::move(whole));
}

void observe(process::Metrics& metrics, const RunReport& report, Duration took) {
  const std::string end(end_name(report.end));
  const auto kind = report.kind.empty() ? std::string("unknown") : report.kind;  // otherwise one of a fixed set
  metrics
      .counter("tidemark_job_deliveries_total", "Deliveries of job messages by kind and by how they ended.",
               {{"kind", kind}, {"end", end}})
      .Increment();
  metrics
      .latency_histogram("tidemark_job_delivery_duration_seconds", "Time from receipt of a job to its end.",
                         {{"kind", kind}})
      .Observe(std::chrono::duration<double>(took).count());
  const auto trace = trace_for_log(report.submitted_by);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(took).count();
  if (report.error) {
    const auto& detail = report.error->detail;
    log_warning("job_id={} kind={} end={} ms={} code={} message=\"{}\"{}{}", report.job_id, report.kind, end, ms,
                azure_name_of(report.error->code), report.error->message,
                detail.empty() ? "" : " detail=\"" + detail + "\"", trace);
  } else {
    log_info("job_id={} kind={} end={} ms={}{}", report.job_id, report.kind, end, ms, trace);
  }
}

/// Declares the series that a worker has before its first job: an alert sees a series rise only if it existed before.
void declare_metrics(process::Metrics& metrics) {
  for (const auto kind : jobs::Kinds::kNames) {
    for (const auto end : {RunEnd::kSucceeded, RunEnd::kRetried, RunEnd::kPoisoned}) {
      metrics.counter("tidemark_job_deliveries_total", "Deliveries of job messages by kind and by how they ended.",
                      {{"kind", std::string(kind)}, {"end", std::string(end_name(end))}});
    }
    metrics.latency_histogram("tidemark_job_delivery_duration_seconds", "Time from receipt of a job to its end.",
                              {{"kind", std::string(kind)}});
  }
}

Task<http::Response> serve_health(const process::Metrics& metrics, const service::MetricsAccess& access,
                                  const service::StoreLinks& stores, std::shared_ptr<std::atomic<bool>> ready,
                                  http::Request& request) {
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  if (request.path == "/metrics") {
    if (const auto admitted = access.admit(request); !admitted) co_return service::refuse_metrics(admitted.error());
    response.body = metrics.render();
  } else if (request.path == "/healthz") {
    response.body = "ok\n";
  } else if (request.path == "/readyz") {
    const auto answered = co_await stores.answer();
    const bool begun = ready->load();
    response.status = answered && begun ? 200 : 503;
    response.body = !answered ? answered.error().message + "\n" : begun ? "ok\n" : "the worker is starting\n";
  } else {
    response.status = 404;
  }
  co_return response;
}

Result<std::unique_ptr<http::Server>> start_metrics(const WorkerConfig& config, Random& random,
                                                    process::Metrics& metrics, const service::StoreLinks& stores,
                                                    std::shared_ptr<std::atomic<bool>> ready) {
  http::ServerOptions options;
  options.host = config.metrics_host;
  options.port = static_cast<std::uint16_t>(config.metrics_port);
  options.threads = 1;
  options.max_connections = 64;
  const auto data = std::filesystem::absolute(config.data);
  auto access = TRY(service::MetricsAccess::create(config.metrics_host, TRY(auth::bearer_token(data, config.token))));
  auto server = TRY(http::bind_server(options, random));
  server->start([&metrics, &stores, access = std::move(access),
                 ready](http::Request& request) { return serve_health(metrics, access, stores, ready, request); },
                [](const Error& error, const std::string&) {
                  http::Response response;
                  response.status = http_status_of(error.code);
                  return response;
                });
  return server;
}

/// The configured callbacks, and the services that send them; nothing without hosts.
struct Callbacks {
  std::unique_ptr<OutboundHttp> http;
  CallbackServices services;
};
Result<std::unique_ptr<Callbacks>> make_callbacks(const WorkerConfig& config) {
  auto out = std::make_unique<Callbacks>();
  out->services.policy = TRY(
      jobs::CallbackPolicy::create(config.callback_hosts, config.callback_private_hosts, config.callback_http_hosts));
  out->services.secrets = TRY(SigningSecrets::parse(config.callback_secrets));
  if (!out->services.policy.enabled()) return nullptr;
  if (out->services.secrets.empty()) {
    return fail(ErrorCode::kConfigInvalid, "callback_hosts needs callback_secrets: callbacks are always signed");
  }
  CurlHttpOptions options;
  options.policy = out->services.policy;
  options.ca_file = config.callback_ca_file;
  options.user_agent = "Tidemark/" TIDEMARK_VERSION;
  options.max_connections = static_cast<std::size_t>(config.concurrency);
  out->http = TRY(make_curl_http(std::move(options)));
  out->services.http = out->http.get();
  return out;
}

std::string name_of_host() {
  std::array<char, 256> host{};
  return ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "";
}

jobs::WorkerInfo describe_self(const WorkerConfig& config, const std::vector<Lane>& lanes, Clock& clock) {
  jobs::WorkerInfo self;
  self.name = config.name;
  self.host = name_of_host();
  self.pid = ::getpid();
  self.concurrency = static_cast<std::int32_t>(config.concurrency);
  self.version = TIDEMARK_VERSION;
  for (const auto& lane : lanes) self.queues += (self.queues.empty() ? "" : ",") + lane.queue;
  self.started_at = clock.now();
  return self;
}

/// The stores as this worker reaches them.
struct Stores {
  Stores(service::StoreLinks to, const std::string& account, Clock& clock, Random& random)
      : links(std::move(to)),
        tables(*links.table, account),
        queues(*links.queue, account, random.guid()),
        blobs(*links.blob, account),
        jobs(tables, queues, clock, random, &blobs),
        indexes(tables, clock, random),
        on_changes(tables, clock, random) {}

  service::StoreLinks links;
  table_store::TableClient tables;
  queue_service::QueueClient queues;
  blob_store::BlobClient blobs;
  jobs::JobStore jobs;
  indexes::IndexStore indexes;
  feeds::OnChangeStore on_changes;
};

/// Waits for readiness in a thread of its own, because signals must work while the stores are still away. If the stores
/// never come, the thread never ends.
std::thread once_ready(const Executor& executor, jobs::JobStore& jobs, Clock& clock, std::function<void()> begin) {
  auto stores = asio::co_spawn(executor, wait_until_ready(jobs, clock), asio::use_future);
  return std::thread([stores = std::move(stores), begin = std::move(begin)]() mutable {
    try {
      stores.get();
    } catch (const std::exception&) {
      return;  // the worker was stopped before the stores came
    }
    begin();
  });
}

/// The tasks that run beside the jobs, once the stores are there.
struct Beside {
  std::shared_ptr<Housekeeping> housekeeping;
  std::shared_ptr<IndexKeeper> indexes;
  std::shared_ptr<OnChangeKeeper> on_changes;
  std::shared_ptr<AnalyticsCollector> analytics;

  void start(WorkerLoop& loop) const {
    housekeeping->start();
    indexes->start(loop.strand());
    on_changes->start(loop.strand());
    analytics->start(loop.strand());
  }
};

/// Lets running jobs finish, and gives back those that do not finish within `drain_s`. `beside`: null if it was not
/// started.
void drain(const WorkerConfig& config, WorkerLoop& loop, const Beside* beside) {
  std::vector<std::future<void>> leaving;
  if (beside != nullptr) {
    asio::post(loop.strand(), [analytics = beside->analytics] { analytics->stop(); });
    leaving.push_back(asio::co_spawn(loop.strand(), beside->indexes->stop(), asio::use_future));
    leaving.push_back(asio::co_spawn(loop.strand(), beside->on_changes->stop(), asio::use_future));
  }
  asio::co_spawn(loop.strand(), loop.drain(std::chrono::seconds(config.drain_s)), asio::use_future).get();
  if (beside != nullptr) {
    leaving.push_back(asio::co_spawn(loop.strand(), beside->housekeeping->stop(), asio::use_future));
  }
  // A store that is gone must not delay the end.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  for (auto& left : leaving) left.wait_until(until);
}

Result<void> run(const WorkerConfig& config) {
  const std::string data = std::filesystem::absolute(config.data).string();
  auto clock = make_system_clock();
  auto random = make_system_random();
  process::Metrics metrics;
  const auto tracer = TRY(tracing::Tracer::create(config.tracing, "worker", *clock, *random, metrics));
  declare_metrics(metrics);
  auto ready = std::make_shared<std::atomic<bool>>(false);
  const auto lanes = TRY(lanes_of(config.priorities, config.queues));
  auto pid_file = TRY(process::PidFile::create(data, config.name));
  // Declared before the objects that the jobs use: their destructors give back calls that are still under way. Nothing
  // runs any more by then.
  asio::thread_pool runner(1);
  asio::thread_pool files(kFileThreads);
  auto accounts = TRY(jobs::parse_account_list(config.job_accounts));
  auto directories = TRY(jobs::open_directories(config.archive_directories, files.get_executor()));
  Stores stores(TRY(service::StoreLinks::open(config.stores, data)), config.account, *clock, *random);
  auto callbacks = TRY(make_callbacks(config));
  std::unique_ptr<http::Server> metrics_server;
  if (config.metrics) {
    metrics_server = TRY(start_metrics(config, *random, metrics, stores.links, ready));
  }
  JobServices services{stores.tables, stores.queues, stores.jobs, *clock, *random};
  services.callbacks = callbacks ? &callbacks->services : nullptr;
  services.objects = {&stores.blobs, std::move(directories), std::move(accounts)};
  auto options = worker_options(config);
  options.lanes = lanes;
  auto loop = WorkerLoop::create(std::move(options), services, runner.get_executor(),
                                 [&metrics, &tracer](const RunReport& report, Duration took) {
                                   observe(metrics, report, took);
                                   end_spans(*tracer, report, took);
                                 });
  const Beside beside{
      Housekeeping::create(housekeeping_options(config, describe_self(config, lanes, *clock)), services, loop),
      IndexKeeper::create({.worker = config.name},
                          {stores.tables, stores.indexes, stores.jobs, *clock, *random, &stores.blobs}),
      OnChangeKeeper::create(
          {.worker = config.name, .poll = std::chrono::seconds(1)},
          {stores.tables, stores.queues, stores.jobs, stores.on_changes, *clock, *random, services.callbacks,
           worker_options(config).runner.retry, std::make_shared<SharedPages>(stores.tables, *clock)}),
      AnalyticsCollector::create(
          analytics_options(config),
          {{"blob", stores.links.blob.get()}, {"queue", stores.links.queue.get()}, {"table", stores.links.table.get()}},
          *clock)};

  log_info("looking for the stores name={} at={}", config.name, stores.links.where);
  process::announce_waiting("waiting for the stores");
  auto announcer = once_ready(runner.get_executor(), stores.jobs, *clock, [&] {
    ready->store(true);
    loop->start();
    beside.start(*loop);
    std::string line = "worker name=" + config.name;
    if (metrics_server) line += " metrics_port=" + std::to_string(metrics_server->port());
    process::announce_ready(line);
  });
  process::wait_for_shutdown();

  log_info("stopping");
  drain(config, *loop, ready->load() ? &beside : nullptr);
  if (metrics_server) metrics_server->stop(std::chrono::seconds(1));
  runner.stop();
  runner.join();
  // A call that is still under way ends in a context that still exists.
  files.join();
  callbacks.reset();
  if (!ready->load()) {
    // The announcer waits for stores that never came; nothing is left to finish.
    {
      const auto gone = std::move(pid_file);
    }
    log_info("stopped");
    std::_Exit(0);
  }
  announcer.join();
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  WorkerConfig config;
  process::Settings settings("worker", "Takes jobs from the queue and carries them out.");
  declare_settings(settings, config);
  return process::run_program("worker", settings, config.log, argc, argv, [&config] {
    if (config.name.empty()) config.name = process::unique_name("worker");
    return run(config);
  });
}
