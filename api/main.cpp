// The api process: wiring only.

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>
#include <filesystem>
#include <future>

#include "api/rest/api_routes.h"
#include "api/rest/render.h"
#include "api/rest/work_desk.h"
#include "api/rest/work_news.h"
#include "api/seed/seed.h"
#include "blob_store/client/blob_browser.h"
#include "common/base/log.h"
#include "common/base/random.h"
#include "common/http/server.h"
#include "common/process/config.h"
#include "common/process/failures.h"
#include "common/process/process.h"
#include "common/rpc/call_trace.h"
#include "common/service/other_hosts.h"
#include "common/service/request_limits.h"
#include "common/service/request_meter.h"
#include "common/service/request_span.h"
#include "common/service/sas_signer.h"
#include "common/service/store_process.h"

namespace tidemark::api {
namespace {

constexpr std::size_t kFileThreads = 2;
// A caller should not have to wait for a store that is away.
constexpr Duration kPatience = std::chrono::milliseconds(900);

struct ApiSettings {
  std::string host = "127.0.0.1";
  std::int64_t port = 10003;
  std::string data = "data";
  std::string name = "api";
  std::string account = "devstoreaccount1";
  std::string token;
  std::string tokens_file;
  std::int64_t session_idle_s = 1800;
  std::int64_t session_longest_s = 43'200;
  bool open = false;
  std::string allowed_hosts;
  std::string allowed_origins;
  std::int64_t threads = 1;
  std::int64_t max_event_streams = 256;
  service::AddressRates of_address;
  std::string archive_directories, job_accounts;
  std::string callback_hosts, callback_private_hosts, callback_http_hosts;
  std::int64_t startup_timeout_s = 30;
  service::StoreAddresses stores;
  std::string trace_url;
  std::string seed_file;
  http::CertificateFiles tls;
  tracing::TracingSettings tracing;
  process::LogOptions log;
};

void declare(process::Settings& settings, ApiSettings& s) {
  settings.add("host", s.host, "address to listen on");
  settings.add("port", s.port, 0, 65535, "port to listen on; 0 takes any free one, which the ready line names");
  settings.add("data", s.data, "data directory of the stack; the stores' sockets are in its run folder");
  settings.add("name", s.name, "name of this process in the run folder; must be unique in the stack");
  settings.add("account", s.account, "account whose tables and queues hold the jobs");
  settings.add("token", s.token, "bearer token of an admin; empty: the one in DATA/run/token, made if absent", true);
  settings.add(
      "tokens_file", s.tokens_file,
      "JSON file of further bearer tokens, with names and the roles viewer, operator and admin; SIGHUP reads it "
      "again");
  settings.add("session_idle_s", s.session_idle_s, 10, 86'400,
               "time without a request after which a browser is logged out");
  settings.add("session_longest_s", s.session_longest_s, 60, 2'592'000, "time after which a browser is logged out");
  settings.add("open", s.open, "ask nobody for a token; only on loopback, where any program of this machine may call");
  settings.add("allowed_hosts", s.allowed_hosts,
               "names that callers may use for this api, beside localhost and addresses: name,name");
  settings.add("allowed_origins", s.allowed_origins,
               "web pages that may use this api, beside its own: https://name:port,https://name");
  settings.add("archive_directories", s.archive_directories,
               "directories of archives that plans and explain may read: name=path,name=path");
  settings.add("job_accounts", s.job_accounts,
               "further accounts that jobs may name, as for the workers; jobs that name others are refused");
  settings.add("callback_hosts", s.callback_hosts,
               "hosts that callbacks may go to, as for the workers; jobs that name other hosts are refused");
  settings.add("callback_private_hosts", s.callback_private_hosts,
               "those of them that may be at a loopback, private or other special address");
  settings.add("callback_http_hosts", s.callback_http_hosts, "those of them that may be called without TLS");
  settings.add("threads", s.threads, 1, 64, "I/O threads");
  settings.add("max_event_streams", s.max_event_streams, 1, 10000,
               "streams of events at once; more are answered with 503 ServerBusy");
  service::declare(settings, s.of_address);
  settings.add("startup_timeout_s", s.startup_timeout_s, 1, 600, "time to wait for the stores at startup");
  service::declare(settings, s.stores);
  settings.add(
      "seed_file", s.seed_file,
      "JSON file of tables, queues, containers, feeds and indexes, and what is in them, that are made at start "
      "where they are absent");
  settings.add("trace_url", s.trace_url,
               "address of a trace in your tracing system, to which the console links, with {traceId} in place of the "
               "id: https://jaeger.example.org/trace/{traceId}");
  declare(settings, s.tls);
  tracing::declare(settings, s.tracing);
  process::declare(settings, s.log);
}

// Repeats until the stores answer or the time is over: the stack's processes start at the same time.
Task<Result<void>> await_stores(jobs::JobStore& jobs, Clock& clock, const ApiSettings& settings, std::string where) {
  const auto deadline = clock.now() + std::chrono::seconds(settings.startup_timeout_s);
  for (;;) {
    auto prepared = co_await jobs.ensure_ready();
    if (prepared) co_return prepared;
    if (clock.now() >= deadline) {
      prepared.error().message = "the stores do not answer at " + where +
                                 ": are table_store and queue_service running there? (" + prepared.error().message +
                                 ")";
      co_return prepared;
    }
    co_await sleep_for(clock, std::chrono::milliseconds(20));
  }
}

/// Returns false if a signal ends the process first.
Result<bool> wait_for_stores(Task<Result<void>> stores, Executor executor) {
  std::promise<Result<void>> ended;
  auto outcome = ended.get_future();
  asio::co_spawn(executor, std::move(stores), [&ended](const std::exception_ptr&, Result<void> came) {
    ended.set_value(std::move(came));
    process::interrupt_wait();
  });
  if (process::wait_for_shutdown() == process::Waited::kSignal) return false;
  TRY(outcome.get());
  return true;
}

http::Response refuse_address(const http::Request& request, const service::TooMuch& refusal) {
  const auto operation = std::string(request.method) + " " + std::string(request.path);
  process::log_failed_request(request.request_id, operation, refusal.error, request.trace);
  auto response = problem(refusal.error, request.request_id);
  service::tell_when(refusal.retry_after_s, response);
  return response;
}

// Requests for health and metrics are neither counted nor limited.
Task<http::Response> serve_metered(ApiRoutes& routes, service::RequestLimits& limits, service::RequestMeter& meter,
                                   RecentFigures& recent, tracing::Tracer& tracer, http::Request& request) {
  if (request.path == "/metrics" || request.path == "/healthz" || request.path == "/readyz") {
    co_return co_await routes.serve(request);
  }
  const auto begun = std::chrono::steady_clock::now();
  service::RequestSpan span(tracer, request);
  const auto refusal = limits.admit_address(request);
  auto trace = tracer.on() ? request.trace : TraceContext();
  auto response =
      refusal ? refuse_address(request, *refusal) : co_await rpc::in_trace(std::move(trace), routes.serve(request));
  limits.answered_address(request, response);
  const auto taken = std::chrono::steady_clock::now() - begun - request.waited;
  meter.record(request, response.status, taken);
  recent.answered(std::chrono::duration_cast<Duration>(taken), response.status);
  span.end(response.status);
  co_return response;
}

Result<std::shared_ptr<Tokens>> load_tokens(const ApiSettings& settings, const std::filesystem::path& data) {
  auto tokens = TRY(Tokens::load({data, settings.token, settings.tokens_file, settings.open}));
  if (!settings.open || TRY(http::is_loopback(settings.host))) return tokens;
  return fail(ErrorCode::kConfigInvalid,
              "refusing to listen on " + settings.host + " without a bearer token: open is for loopback only");
}

/// Collects the facts for people. kConfigInvalid.
Result<StackFacts> stack_facts(const ApiSettings& settings, const std::filesystem::path& data) {
  StackFacts out{TIDEMARK_VERSION, {}, settings.trace_url};
  std::error_code none;
  if (std::filesystem::is_directory(data / "log", none)) out.logs = (data / "log").string();
  const std::string_view url = out.trace_url;
  const bool by_http = url.starts_with("http://") || url.starts_with("https://");
  if (url.empty() || (by_http && url.contains("{traceId}"))) return out;
  return fail(ErrorCode::kConfigInvalid, "trace_url: \"" + out.trace_url +
                                             "\" is not an address such as https://jaeger.example.org/trace/{traceId}");
}

/// Runs before any request is served, so that a client that waits for the api finds everything.
Result<void> seed_stores(const std::string& path, SeedStores stores, http::Server& server) {
  auto seed = TRY(read_seed(path));
  const auto sown = asio::co_spawn(server.executor(), sow(stores, std::move(seed)), asio::use_future).get();
  if (!sown) return fail(ErrorCode::kConfigInvalid, "seed_file: " + path + ": " + sown.error().message);
  log_info(
      "seeded file={} tables={} entities={} queues={} messages={} blobs={} feeds={} consumers={} on_change={} "
      "indexes={}",
      path, sown->tables, sown->entities, sown->queues, sown->messages, sown->blobs, sown->feeds, sown->consumers,
      sown->on_changes, sown->indexes);
  return {};
}

http::ServerOptions server_options(const ApiSettings& settings, std::shared_ptr<const http::Certificate> certificate) {
  http::ServerOptions options;
  options.certificate = std::move(certificate);
  options.host = settings.host;
  options.port = static_cast<std::uint16_t>(settings.port);
  options.threads = static_cast<unsigned>(settings.threads);
  options.max_connections = process::make_room_for_connections(options.max_connections);
  return options;
}

Result<void> run(const ApiSettings& settings) {
  const auto data = std::filesystem::absolute(settings.data);
  auto pid_file = TRY(process::PidFile::create(data, settings.name));

  const auto certificate = TRY(http::Certificate::load(settings.tls));
  const auto tokens = TRY(load_tokens(settings, data));
  auto callbacks = TRY(jobs::CallbackPolicy::create(settings.callback_hosts, settings.callback_private_hosts,
                                                    settings.callback_http_hosts));
  const auto seed_callbacks = callbacks;
  asio::thread_pool files(kFileThreads);
  auto accounts = TRY(jobs::parse_account_list(settings.job_accounts));
  auto directories = TRY(jobs::open_directories(settings.archive_directories, files.get_executor()));
  auto clock = make_system_clock();
  const SessionLimits session_limits{std::chrono::seconds(settings.session_idle_s),
                                     std::chrono::seconds(settings.session_longest_s)};
  auto entry = TRY(Entry::create({settings.host, settings.allowed_hosts, settings.allowed_origins}, tokens,
                                 std::make_shared<Sessions>(session_limits, *clock)));
  auto random = make_system_random();
  process::Metrics metrics;
  const auto tracer = TRY(tracing::Tracer::create(settings.tracing, "api", *clock, *random, metrics));
  auto server = TRY(http::bind_server(server_options(settings, certificate), *random));

  auto links = TRY(service::StoreLinks::open(settings.stores, data.string(), kPatience));
  table_store::TableClient tables(*links.table, settings.account);
  table_store::ListingClient listings(*links.table, settings.account);
  queue_service::QueueClient queues(*links.queue, settings.account);
  blob_store::BlobClient blobs(*links.blob, settings.account);
  const blob_store::BlobBrowser browser(*links.blob, settings.account);
  jobs::JobStore job_store(tables, queues, *clock, *random, &blobs);
  jobs::PoisonStore poison(job_store, queues);
  Api api{std::move(entry),
          std::move(callbacks),
          job_store,
          poison,
          queues,
          tables,
          listings,
          metrics,
          *clock,
          *random,
          {&blobs, std::move(directories), std::move(accounts)}};
  const service::SasClient blob_sas(*links.blob, settings.account), queue_sas(*links.queue, settings.account),
      table_sas(*links.table, settings.account);
  api.sas_signers = {&blob_sas, &queue_sas, &table_sas};
  api.streams.most = static_cast<std::size_t>(settings.max_event_streams);
  api.blobs = &browser;
  api.facts = TRY(stack_facts(settings, data));
  const auto recent = api.recent;
  const auto watch = api.watch;
  api.backups = std::make_shared<Backups>(
      std::vector<StoreLink>{{"table", links.table.get()}, {"queue", links.queue.get()}, {"blob", links.blob.get()}},
      *clock, TIDEMARK_VERSION, files.get_executor());
  api.stores = &links;
  auto desk = std::make_shared<WorkDesk>(jobs::WorkServices{job_store, queues, tables, *clock, *random}, metrics,
                                         server->executor());
  api.work = desk.get();
  api.news = std::make_shared<WorkNews>(tables, *clock);
  const auto backups = api.backups;
  ApiRoutes routes(std::move(api));

  log_info("waiting for the stores at={}", links.where);
  if (!TRY(wait_for_stores(await_stores(job_store, *clock, settings, links.where), server->executor()))) {
    {
      const auto gone = std::move(pid_file);
    }
    process::leave();  // even with work in progress
  }
  if (!settings.seed_file.empty()) {
    indexes::IndexStore indexes(tables, *clock, *random);
    feeds::ConsumerStore consumers(tables, *clock);
    feeds::OnChangeStore on_changes(tables, *clock, *random);
    TRY(seed_stores(settings.seed_file, {tables, queues, blobs, indexes, consumers, on_changes, seed_callbacks},
                    *server));
  }
  service::RequestMeter meter(metrics);
  const auto of_connections = std::make_shared<process::Figures>([&] { return service::connection_figures(*server); });
  metrics.add(of_connections);
  service::RequestLimits limits(settings.of_address, {}, metrics);
  server->start([&](http::Request& request) { return serve_metered(routes, limits, meter, *recent, *tracer, request); },
                [](const Error& error, const std::string& id) { return problem(error, id); });
  spawn(server->executor(), RecentFigures::run(recent, queues, *clock));
  StoreWatch::run(watch, server->executor(), backups->stores(), *clock);
  process::announce_ready("api " + server->where());
  process::wait_for_shutdown([&] {
    if (certificate) certificate->reload();
    tokens->reload();
  });
  routes.stop();
  desk->stop();
  recent->stop();
  watch->stop();
  server->stop(std::chrono::seconds(10));
  // The links complete their pending calls before the coroutines that wait for them are destroyed with the server.
  links.blob.reset();
  links.queue.reset();
  links.table.reset();
  files.join();
  desk.reset();  // before the executor on which it runs
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
