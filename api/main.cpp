// The api process: wiring only.
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <future>

#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "common/base/random.h"
#include "common/http/server.h"
#include "common/process/config.h"
#include "common/process/process.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/request_meter.h"
#include "common/service/store_process.h"

namespace tidemark::api {
namespace {

constexpr std::size_t kFileThreads = 2;

struct ApiSettings {
  std::string host = "127.0.0.1";
  std::int64_t port = 10003;
  std::string data = "data";
  std::string name = "api";
  std::string account = "devstoreaccount1";
  std::string token;
  std::int64_t threads = 1;
  std::string archive_directories;
  std::string callback_hosts, callback_private_hosts, callback_http_hosts;
  std::int64_t startup_timeout_s = 30;
  process::LogOptions log;
};

void declare(process::Settings& settings, ApiSettings& s) {
  settings.add("host", s.host, "address to listen on");
  settings.add("port", s.port, 0, 65535, "port to listen on; 0 takes any free one, which the ready line names");
  settings.add("data", s.data, "data directory of the stack; the stores' sockets are in its run folder");
  settings.add("name", s.name, "name of this process in the run folder; must be unique in the stack");
  settings.add("account", s.account, "account whose tables and queues hold the jobs");
  settings.add("token", s.token, "bearer token that callers must send; required when listening beyond loopback", true);
  settings.add("archive_directories", s.archive_directories,
               "directories of archives that plans and explain may read: name=path,name=path");
  settings.add("callback_hosts", s.callback_hosts,
               "hosts that callbacks may go to, as for the workers; jobs that name other hosts are refused");
  settings.add("callback_private_hosts", s.callback_private_hosts,
               "those of them that may be at a loopback, private or other special address");
  settings.add("callback_http_hosts", s.callback_http_hosts, "those of them that may be called without TLS");
  settings.add("threads", s.threads, 1, 64, "I/O threads");
  settings.add("startup_timeout_s", s.startup_timeout_s, 1, 600, "time to wait for the stores at startup");
  process::declare(settings, s.log);
}

// Repeats until the stores answer or the time is over: the stack's processes start side by side.
Task<Result<void>> await_stores(jobs::JobStore& jobs, Clock& clock, const ApiSettings& settings,
                                std::string run_folder) {
  const auto deadline = clock.now() + std::chrono::seconds(settings.startup_timeout_s);
  for (;;) {
    auto prepared = co_await jobs.ensure_ready();
    if (prepared) co_return prepared;
    if (clock.now() >= deadline) {
      prepared.error().message = "the stores do not answer at " + run_folder +
                                 ": are table_store and queue_service running with the same --data? (" +
                                 prepared.error().message + ")";
      co_return prepared;
    }
    co_await sleep_for(clock, std::chrono::milliseconds(20));
  }
}

// Requests for health and metrics are not counted.
Task<http::Response> serve_metered(ApiRoutes& routes, service::RequestMeter& meter, http::Request& request) {
  const auto begun = std::chrono::steady_clock::now();
  auto response = co_await routes.serve(request);
  const bool counts = request.path != "/metrics" && request.path != "/healthz" && request.path != "/readyz";
  if (counts) meter.record(request, response.status, std::chrono::steady_clock::now() - begun);
  co_return response;
}

Result<void> check_token_safety(const ApiSettings& settings) {
  if (TRY(http::is_loopback(settings.host)) || !settings.token.empty()) return {};
  return fail(ErrorCode::kConfigInvalid,
              "refusing to listen on " + settings.host + " without a bearer token: set token (TIDEMARK_TOKEN)");
}

http::ServerOptions server_options(const ApiSettings& settings) {
  http::ServerOptions options;
  options.host = settings.host;
  options.port = static_cast<std::uint16_t>(settings.port);
  options.threads = static_cast<unsigned>(settings.threads);
  return options;
}

Result<void> run(const ApiSettings& settings) {
  TRY(check_token_safety(settings));
  const auto data = std::filesystem::absolute(settings.data);
  const auto pid_file = TRY(process::PidFile::create(data, settings.name));

  auto callbacks = TRY(jobs::CallbackPolicy::create(settings.callback_hosts, settings.callback_private_hosts,
                                                    settings.callback_http_hosts));
  asio::thread_pool files(kFileThreads);
  auto directories = TRY(jobs::open_directories(settings.archive_directories, files.get_executor()));
  auto clock = make_system_clock();
  auto random = make_system_random();
  process::Metrics metrics;
  auto server = TRY(http::bind_server(server_options(settings), *random));

  auto table_link = rpc::connect(service::internal_endpoint(data.string(), "table"));
  auto queue_link = rpc::connect(service::internal_endpoint(data.string(), "queue"));
  auto blob_link = rpc::connect(service::internal_endpoint(data.string(), "blob"));
  table_store::TableClient tables(*table_link, settings.account);
  queue_service::QueueClient queues(*queue_link, settings.account);
  blob_store::BlobClient blobs(*blob_link, settings.account);
  jobs::JobStore job_store(tables, queues, *clock, *random, &blobs);
  jobs::PoisonStore poison(job_store, queues);
  ApiRoutes routes(Api{settings.token,
                       std::move(callbacks),
                       job_store,
                       poison,
                       queues,
                       tables,
                       metrics,
                       *clock,
                       {&blobs, std::move(directories)}});

  TRY(asio::co_spawn(server->executor(), await_stores(job_store, *clock, settings, data / "run"), asio::use_future)
          .get());
  service::RequestMeter meter(metrics);
  server->start([&](http::Request& request) { return serve_metered(routes, meter, request); },
                [](const Error& error, const std::string& id) { return problem(error, id); });
  process::announce_ready("api port=" + std::to_string(server->port()));
  process::wait_for_shutdown();
  routes.stop();
  server->stop(std::chrono::seconds(10));
  // The links complete what is pending before the coroutines that wait for it are destroyed with the server.
  blob_link.reset();
  queue_link.reset();
  table_link.reset();
  files.join();
  server.reset();
  return {};
}

}  // namespace
}  // namespace tidemark::api

int main(int argc, char** argv) {
  using namespace tidemark;
  api::ApiSettings values;
  process::Settings settings("api", "Jobs, poison messages and metrics of a Tidemark stack, as JSON over HTTP.");
  api::declare(settings, values);
  return process::run_program("api", settings, values.log, argc, argv, [&values] { return api::run(values); });
}
