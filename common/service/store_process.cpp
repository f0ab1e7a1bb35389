#include "common/service/store_process.h"

#include <spdlog/spdlog.h>

#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "common/analytics/analytics.h"
#include "common/auth/bearer_token.h"
#include "common/kv/age_clock.h"
#include "common/kv/rocksdb_engine.h"
#include "common/process/config.h"
#include "common/process/failures.h"
#include "common/process/private_file.h"
#include "common/process/process.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/data_stamp.h"
#include "common/service/disk_watch.h"
#include "common/service/engine_metrics.h"
#include "common/service/maintenance.h"
#include "common/service/metrics_access.h"
#include "common/service/other_hosts.h"
#include "common/service/quota_watch.h"
#include "common/service/request_meter.h"
#include "common/service/request_span.h"
#include "common/service/sas_signer.h"
#include "common/service/token_keys.h"

namespace tidemark::service {
namespace {

struct StoreSettings {
  std::string host = "127.0.0.1";
  std::int64_t port = 0;
  std::string data = "data";
  std::string accounts;
  std::string accounts_file;
  std::string token;
  std::string allowed_hosts;
  std::string durability = "fsync";
  std::int64_t threads = 2;
  std::int64_t max_connections = 4096;
  std::int64_t max_connections_of_address = 2048;
  std::int64_t max_body_memory_mib = 512;
  std::int64_t slowest_bytes_per_s = 4096;
  std::int64_t max_internal_calls = 4096;
  std::int64_t idle_timeout_s = 120;
  std::int64_t shutdown_grace_s = 10;
  std::int64_t block_cache_mib = 256;
  std::int64_t min_free_mib = 128;
  std::int64_t operation_retention_h = 720;
  std::int64_t sas_longest_h = 168;
  AddressRates of_address;
  AccountRates of_account;
  QuotaSettings quotas;
  bool service_targets = false;
  bool check_clock_skew = true;
  bool allow_development_key = false;
  bool trust_forwarded_proto = false;
  http::CertificateFiles tls;
  TokenSettings tokens;
  ListenSettings listen;
  UsageSettings usage;
  tracing::TracingSettings tracing;
  analytics::AnalyticsSettings analytics;
  ScrubSettings scrub;
  bool fsck = false;
  process::LogOptions log;
};

void declare(process::Settings& settings, StoreSettings& s) {
  settings.add("host", s.host, "address to listen on");
  settings.add("port", s.port, 0, 65535, "port to listen on; 0 takes any free one, which the ready line names");
  settings.add("data", s.data, "data directory of the whole stack; each database has a folder in it");
  settings.add(
      "accounts", s.accounts,
      "name:base64key[:base64key2] [tables=N] [table_bytes=10GiB] ..., separated by commas; empty: the well-known "
      "development account",
      true);
  settings.add("accounts_file", s.accounts_file,
               "file with the accounts instead, one on a line; SIGHUP reads it again");
  settings.add("token", s.token,
               "bearer token that /metrics needs beyond loopback; empty: the one in DATA/run/token, made if absent",
               true);
  settings.add("allowed_hosts", s.allowed_hosts,
               "names for accounts with the development key, beside addresses, localhost and names without a dot: "
               "name,name");
  settings.add_choice("durability", s.durability, {"fsync", "os"},
                      "fsync: acknowledged writes survive a power cut; os: they survive only a crash of the process");
  settings.add("threads", s.threads, 1, 64,
               "I/O threads; at most half of them, but at least one, scan tables at a time");
  settings.add(
      "max_connections", s.max_connections, 1, 100000,
      "open connections; for more, the one that has been idle longest is closed, or else 503 ServerBusy is the "
      "answer");
  settings.add("max_connections_of_address", s.max_connections_of_address, 1, 100000,
               "open connections from one address; more are answered with 503 ServerBusy");
  declare(settings, s.of_address);
  declare(settings, s.of_account);
  settings.add(
      "service_targets", s.service_targets,
      "refuse what is beyond the service's own targets, so that clients can be tested against them: 20,000 "
      "entities or messages per second and account (blobs: requests), 2,000 per partition of a table or queue");
  settings.add("max_body_memory_mib", s.max_body_memory_mib, 16, 1048576,
               "memory for the bodies of all requests in progress; beyond it, 503 ServerBusy is the answer");
  settings.add("slowest_bytes_per_s", s.slowest_bytes_per_s, 1, 1000000000,
               "a client that sends its body or takes its answer more slowly is disconnected after a minute");
  settings.add(
      "max_internal_calls", s.max_internal_calls, 1, 100000,
      "calls of workers and the api at once, including long polls; beyond that, callers are told to slow down");
  settings.add("idle_timeout_s", s.idle_timeout_s, 1, 3600, "time after which an idle connection is closed");
  settings.add("shutdown_grace_s", s.shutdown_grace_s, 0, 600, "time for requests in progress to finish after SIGTERM");
  settings.add("min_free_mib", s.min_free_mib, 0, 1048576,
               "free space on the disk below which writes are refused, with 507 InsufficientStorage; reads go on");
  settings.add("block_cache_mib", s.block_cache_mib, 1, 65536, "memory for cached blocks of the database");
  settings.add(
      "operation_retention_h", s.operation_retention_h, 24, 87600,
      "how long the ledger of an operation is kept after its last change; must exceed the lifetime of the messages "
      "that ask for it");
  settings.add("sas_longest_h", s.sas_longest_h, 1, 8760,
               "how long a shared access signature may last that this store signs for the api");
  settings.add("check_clock_skew", s.check_clock_skew, "refuse signatures whose date is more than 15 minutes off");
  settings.add("allow_development_key", s.allow_development_key,
               "allow the well-known development key when listening beyond loopback");
  settings.add(
      "trust_forwarded_proto", s.trust_forwarded_proto,
      "trust the X-Forwarded-Proto of a TLS terminator in front, which a SAS with spr=https needs; only if nobody "
      "else can reach this address");
  declare(settings, s.tls);
  declare(settings, s.tokens);
  declare(settings, s.listen);
  declare(settings, s.usage);
  tracing::declare(settings, s.tracing);
  analytics::declare(settings, s.analytics);
  declare(settings, s.scrub);
  settings.add("fsck", s.fsck,
               "check what is stored instead of serving it, and print what is wrong as JSON, one finding a line; the "
               "exit code is 1 if anything is (see tidemark fsck)");
  process::declare(settings, s.log);
}

Result<void> check_key_safety(const StoreSettings& settings, const std::vector<auth::Account>& accounts) {
  const auto loopback = TRY(http::is_loopback(settings.host));
  if (loopback || settings.allow_development_key) return {};
  const auto development = auth::development_account();
  for (const auto& account : accounts) {
    for (const auto& key : account.keys) {
      if (key != development.keys[0]) continue;
      return fail(ErrorCode::kConfigInvalid,
                  "refusing to listen on " + settings.host +
                      " with the well-known development key: configure accounts "
                      "with keys of your own, or set allow_development_key if strangers cannot reach this address");
    }
  }
  return {};
}

Result<std::vector<auth::Account>> load_accounts(const StoreSettings& settings) {
  if (!settings.accounts.empty() && !settings.accounts_file.empty()) {
    return fail(ErrorCode::kConfigInvalid, "accounts and accounts_file exclude each other: remove one of them");
  }
  auto accounts =
      settings.accounts_file.empty()
          ? TRY(parse_accounts(settings.accounts))
          : TRY(parse_accounts_file(TRY(process::read_private_file("accounts_file", settings.accounts_file))));
  TRY(check_key_safety(settings, accounts));
  return accounts;
}

/// If anything is wrong with the file, the accounts stay as they are and the log says why.
void reload_accounts(const StoreSettings& settings, Front& front, Quotas& quotas) {
  if (settings.accounts_file.empty()) return;
  auto accounts = load_accounts(settings);
  if (!accounts) {
    spdlog::error("the accounts are kept, because the new ones cannot be used reason=\"{}\"", accounts.error().message);
    return;
  }
  spdlog::info("the accounts were read again file={} count={}", settings.accounts_file, accounts->size());
  quotas.use_accounts(*accounts);
  front.use_accounts(std::move(*accounts), settings.allowed_hosts);
}

// GET /healthz and /readyz, before any authentication; they tell nothing about data.
std::optional<http::Response> serve_health(const http::Request& request, const kv::Engine& engine) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (request.path != "/healthz" && request.path != "/readyz") return std::nullopt;
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = "ok\n";
  if (request.path == "/readyz") {
    if (const auto trouble = engine.failure()) {
      response.status = 503;
      response.body = trouble->message + "\n";
    }
  }
  return response;
}

std::vector<prometheus::MetricFamily> internal_figures(const rpc::Server& server) {
  constexpr auto kCounter = prometheus::MetricType::Counter;
  const auto counters = server.counters();
  return {process::figure("tidemark_internal_calls_total", "Calls of workers and the api that were served.", kCounter,
                          static_cast<double>(counters.calls)),
          process::figure("tidemark_internal_calls_refused_total", "Calls refused because too many were being served.",
                          kCounter, static_cast<double>(counters.busy)),
          process::figure("tidemark_internal_connections", "Open connections from other machines.",
                          prometheus::MetricType::Gauge, static_cast<double>(counters.connections)),
          process::figure("tidemark_internal_keys_refused_total",
                          "Connections from other machines that were refused, because their keys are not allowed.",
                          kCounter, static_cast<double>(counters.refused))};
}

/// What the process answers itself, around what the store does.
struct Face {
  Store& store;
  Front& front;
  const kv::Engine& engine;
  const process::Metrics& metrics;
  MetricsAccess metrics_access;
  RequestLimits& limits;
  tracing::Tracer& tracer;
  RequestMeter meter;
};

Task<http::Response> serve_metrics(Face& face, const http::Request& request) {
  if (const auto admitted = face.metrics_access.admit(request); !admitted) co_return refuse_metrics(admitted.error());
  co_await face.store.before_metrics();
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = face.metrics.render();
  co_return response;
}

// Until `stopping` is notified.
Task<void> keep_ages(kv::AgeClock& ages, std::shared_ptr<Signal> stopping) {
  for (bool stopped = false; !stopped;) {
    const auto kept = co_await ages.keep();
    if (!kept) process::log_failed_task("keep_ages", kept.error());
    stopped = co_await stopping->wait(ages, kv::kKeepAge);
  }
}

http::Response refuse_address(const Face& face, const http::Request& request, const TooMuch& refusal) {
  const auto operation = std::string(request.method) + " " + std::string(request.path);
  process::log_failed_request(request.request_id, operation, refusal.error, request.trace);
  auto response = face.front.render_error(refusal.error, request.request_id);
  tell_when(refusal.retry_after_s, response);
  return response;
}

Task<http::Response> serve_metered(Face& face, http::Request& request) {
  const auto begun = std::chrono::steady_clock::now();
  if (auto health = serve_health(request, face.engine)) co_return std::move(*health);
  if (request.path == "/metrics" && (request.method == "GET" || request.method == "HEAD")) {
    co_return co_await serve_metrics(face, request);
  }
  RequestSpan span(face.tracer, request);
  const auto refusal = face.limits.admit_address(request);
  auto response = refusal ? refuse_address(face, request, *refusal) : co_await face.front.serve(request);
  face.limits.answered_address(request, response);
  face.meter.record(request, response.status, std::chrono::steady_clock::now() - begun);
  span.end(response.status);
  co_return response;
}

/// What is configured, and the targets if they are wanted.
AccountRates account_rates(const StoreSettings& settings, const StoreDescription& description) {
  auto rates = settings.of_account;
  if (!settings.service_targets) return rates;
  rates.items = description.targets.items;
  rates.part_items = description.targets.part_items;
  if (rates.requests == 0) rates.requests = description.targets.requests;
  return rates;
}

// Once an hour until `stopping` is notified.
Task<void> drop_old_ledgers(kv::Engine& engine, Clock& clock, kv::FadingRows ledgers, Duration retention,
                            std::shared_ptr<Signal> stopping) {
  for (bool stopped = false; !stopped;) {
    const auto dropped = co_await kv::drop_faded(engine, ledgers, retention, clock.now());
    if (!dropped) process::log_failed_task("drop_old_ledgers", dropped.error());
    if (dropped && *dropped > 0) spdlog::info("forgot operations count={}", *dropped);
    stopped = co_await stopping->wait(clock, std::chrono::hours(1));
  }
}

kv::RocksDbOptions database_options(const StoreSettings& settings, const std::filesystem::path& folder,
                                    const StoreDescription& description) {
  return {.path = folder,
          .durability = settings.durability == "fsync" ? kv::Durability::kFsync : kv::Durability::kOs,
          .block_cache_bytes = static_cast<std::size_t>(settings.block_cache_mib) << 20,
          .apart_from_bytes = description.values_apart_from_bytes};
}

struct OpenedData {
  std::unique_ptr<kv::RocksDbEngine> engine;
  DataIdentity identity;
};

/// Only data of this store, in a format that it reads, is ever touched.
Result<OpenedData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                             const StoreDescription& description) {
  const StampOf expected{description.folder, description.format};
  const auto stamp = TRY(check_folder(data, expected));
  const auto folder = data / description.folder;
  TRY(process::prepare_directory(folder));
  auto engine = TRY(kv::open_rocksdb(database_options(settings, folder, description)));
  if (!stamp.stamped) {
    if (description.check_unstamped) TRY(description.check_unstamped(*engine));
    TRY(stamp_folder(data, expected, stamp.owner));
  }
  return OpenedData{std::move(engine), {description.folder, description.format, stamp.owner}};
}

/// The files of the database first: what the rows say is worth nothing if they are damaged.
Result<void> check_all(const kv::StoredEngine& engine, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run) {
  TRY(kv::check_files(engine, run));
  auto walked = description.check ? description.check(engine, folder, run) : Result<void>();
  if (!walked.failed_with(ErrorCode::kCorruption)) return walked;
  run.found("checksum", "rows", "not all can be read: " + walked.error().detail);
  return {};
}

void print_finding(const kv::Finding& finding) {
  const nlohmann::json line{{"kind", finding.kind}, {"where", finding.where}, {"what", finding.what}};
  std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

/// The store's data while nothing else uses it. kCorruption if anything is wrong.
Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description) {
  const auto data = std::filesystem::absolute(settings.data);
  const auto folder = data / description.folder;
  const auto pid_file = TRY(process::PidFile::create(data, description.process_name));
  kv::CheckRun run({}, &print_finding);
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown)) {
    if (const auto stamp = check_folder(data, {description.folder, description.format}, false); !stamp) {
      run.found("stamp", "file " + std::string(kStampName), stamp.error().message);
    }
    const auto engine = kv::open_rocksdb_to_read(database_options(settings, folder, description));
    if (!engine) {
      run.found("database", description.folder, engine.error().message + " " + engine.error().detail);
    } else {
      TRY(check_all(**engine, description, folder, run));
    }
  }
  const auto& report = run.report();
  std::puts(
      nlohmann::json{{"rows", report.rows}, {"files", report.files}, {"bytes", report.bytes}, {"found", report.found}}
          .dump()
          .c_str());
  if (report.found == 0) return {};
  return fail(ErrorCode::kCorruption, std::to_string(report.found) + " findings in " + folder.string());
}

http::ServerOptions http_options(const StoreSettings& settings, std::shared_ptr<const http::Certificate> certificate) {
  return {.host = settings.host,
          .port = static_cast<std::uint16_t>(settings.port),
          .listener = process::listener_before(),
          .threads = static_cast<unsigned>(settings.threads),
          .max_connections = process::make_room_for_connections(static_cast<std::size_t>(settings.max_connections)),
          .max_connections_of_address = static_cast<std::size_t>(settings.max_connections_of_address),
          .max_body_memory = static_cast<std::size_t>(settings.max_body_memory_mib) << 20,
          .certificate = std::move(certificate),
          .idle_timeout = std::chrono::seconds(settings.idle_timeout_s),
          .slowest_bytes_per_s = static_cast<std::uint64_t>(settings.slowest_bytes_per_s)};
}

/// Where users find this store, for the URLs of signatures.
SignedSas place_of(const StoreSettings& settings, const http::Server& server, bool tls) {
  const bool everywhere = settings.host == "0.0.0.0" || settings.host == "::";
  const bool v6 = settings.host.contains(':');
  return {.query = {},
          .scheme = tls ? "https" : "http",
          .host = everywhere ? ""
                  : v6       ? "[" + settings.host + "]"
                             : settings.host,
          .port = server.port()};
}

Result<std::unique_ptr<rpc::Server>> serve_internally(const StoreSettings& settings, const std::string& endpoint,
                                                      std::optional<rpc::TcpListening> tcp, Store& store,
                                                      analytics::Analytics& analytics, SasSigner& signer,
                                                      Maintenance& maintenance, Quotas& quotas,
                                                      const Executor& executor) {
  return rpc::serve({.endpoint = endpoint,
                     .max_in_flight = static_cast<std::size_t>(settings.max_internal_calls),
                     .undelivered = store.undelivered(),
                     .failed = &process::log_failed_call,
                     .tcp = std::move(tcp)},
                    executor,
                    maintenance.beside(quotas.beside(signer.beside(analytics.beside(store.internal_face())))));
}

Result<void> run(const StoreSettings& settings, const StoreDescription& description, const StoreFactory& build) {
  const std::filesystem::path data = std::filesystem::absolute(settings.data);
  const auto accounts = TRY(load_accounts(settings));
  const auto certificate = TRY(http::Certificate::load(settings.tls));
  const auto tokens = TRY(TokenKeys::create(settings.tokens));
  const auto allowed = TRY(allowed_keys(settings.listen));
  auto tcp = TRY(listening(settings.listen, allowed));
  const auto pid_file = TRY(process::PidFile::create(data, description.process_name));
  auto metrics_access = TRY(MetricsAccess::create(settings.host, TRY(auth::bearer_token(data, settings.token))));
  // Debian's RocksDB is built with assertions, and one fails if the disk does while a database is opened or closed.
  std::optional<process::AssertionsEndTheStart> start(std::in_place);
  const auto folder = data / description.folder;
  const auto [engine, identity] = TRY(open_data(settings, data, description));
  const auto clock = make_system_clock();
  kv::AgeClock ages(*engine, *clock);
  const auto random = make_system_random();
  process::Metrics metrics;
  const auto tracer =
      TRY(tracing::Tracer::create(settings.tracing, description.process_name, *clock, *random, metrics));
  const auto of_engine = std::make_shared<process::Figures>([&] { return engine_figures(*engine); });
  metrics.add(of_engine);
  auto server = TRY(http::bind_server(http_options(settings, certificate), *random));

  StoreContext context{*engine,
                       *clock,
                       ages,
                       *random,
                       metrics,
                       accounts,
                       {.check_clock_skew = settings.check_clock_skew,
                        .trust_forwarded_proto = settings.trust_forwarded_proto,
                        .tokens = tokens ? tokens->check() : nullptr},
                       server->executor(),
                       static_cast<std::size_t>(settings.threads),
                       folder,
                       settings.durability == "fsync"};
  analytics::Analytics analytics(*engine, *clock, settings.analytics, metrics);
  const auto store = build(context);
  SasSigner signer(store->front().service(), store->front(), std::chrono::hours(settings.sas_longest_h),
                   place_of(settings, *server, certificate != nullptr));
  StoreBackup backup(*engine, store->files_beside(), folder, description.folder);
  StoreCheck check([&](kv::CheckRun& checked) { return check_all(*engine, description, folder, checked); },
                   settings.scrub, metrics);
  Maintenance maintenance(identity, backup, check);
  Quotas quotas(store->front().service(), description.unit, settings.quotas, metrics);
  quotas.use_accounts(accounts);
  QuotaWatch quota_watch(*engine, quotas, description.holdings,
                         [&](const kv::KeyRange& range) { return engine->estimate_bytes(range); });
  auto internal = serve_internally(settings, internal_endpoint(data.string(), description.folder), std::move(tcp),
                                   *store, analytics, signer, maintenance, quotas, server->executor());
  if (!internal) {
    // The store may have begun background work: it ends before the store goes.
    server->stop(Duration::zero());
    store->drain();
    engine->drain();
    server.reset();
    return fail(std::move(internal.error()));
  }
  const auto of_calls = std::make_shared<process::Figures>([&] { return internal_figures(**internal); });
  metrics.add(of_calls);
  const auto of_connections = std::make_shared<process::Figures>([&] { return connection_figures(*server); });
  metrics.add(of_connections);
  const auto stopping = std::make_shared<Signal>();
  spawn(server->executor(), keep_ages(ages, stopping));
  spawn(server->executor(), analytics.run());
  if (description.ledgers) {
    spawn(server->executor(), drop_old_ledgers(*engine, ages, *description.ledgers,
                                               std::chrono::hours(settings.operation_retention_h), stopping));
  }

  RequestLimits limits(settings.of_address, account_rates(settings, description), metrics);
  UsageMeter usage({description.unit, description.partition}, settings.usage, metrics);
  auto& front = store->front();
  front.meter_by(usage);
  front.limit_by(limits);
  front.bound_by(quotas);
  front.use_accounts(accounts, settings.allowed_hosts);
  front.record_by(analytics.recorder());
  Face face{*store, front, *engine, metrics, std::move(metrics_access), limits, *tracer, RequestMeter(metrics)};
  server->start(
      [&](http::Request& request) { return serve_metered(face, request); },
      [&](const Error& error, const std::string& request_id) { return front.render_error(error, request_id); });
  const auto elsewhere = (*internal)->tcp_address();
  process::announce_ready(description.process_name + " " + server->where() +
                          (elsewhere.empty() ? "" : " internal=" + elsewhere));
  start.reset();
  const auto waited = [&] {
    const DiskWatch disk(*engine,
                         {.directory = folder,
                          .min_free_bytes = static_cast<std::uint64_t>(settings.min_free_mib) << 20,
                          .restarted = process::listener_before().has_value()},
                         &process::interrupt_wait);
    return process::wait_for_shutdown([&] {
      if (certificate) certificate->reload();
      if (tokens) tokens->reload();
      reload(allowed.get());
      reload_accounts(settings, front, quotas);
    });
  }();

  spdlog::info("stopping");
  check.stop();
  quota_watch.stop();
  const auto listener =
      waited == process::Waited::kInterrupted ? std::optional(server->keep_listening()) : std::nullopt;
  store->begin_shutdown();
  stopping->notify_all();
  analytics.stop();
  (*internal)->stop();
  server->stop(std::chrono::seconds(settings.shutdown_grace_s));
  stopping->notify_all();  // who was busy then waits now, and holds what it waits for: an owner of itself
  // I/O threads have ended. What they submitted completes before their coroutines, the store and the engine go.
  analytics.finish();
  store->drain();
  engine->drain();
  if (listener) process::start_again(*listener);
  // A database whose log failed cannot be closed (Debian's build aborts), so it is left as a kill would leave it.
  if (const auto trouble = engine->failure(); trouble && trouble->code == ErrorCode::kStorageFailure) {
    spdlog::warn("stopped without closing the database, because its disk fails");
    process::leave();
  }
  internal->reset();
  server.reset();
  return {};
}

}  // namespace

int run_store(int argc, const char* const* argv, const StoreDescription& description, const StoreFactory& build) {
  StoreSettings values;
  values.port = description.default_port;
  process::Settings settings(description.process_name, description.summary);
  declare(settings, values);
  declare(settings, values.quotas, description.unit);
  if (description.declare_settings) description.declare_settings(settings);
  return process::run_program(description.process_name, settings, values.log, argc, argv, [&] {
    return values.fsck ? check_offline(values, description) : run(values, description, build);
  });
}

}  // namespace tidemark::service
