#include "common/service/store_process.h"

#include <deque>
#include <optional>

#include "common/auth/bearer_token.h"
#include "common/base/log.h"
#include "common/kv/age_clock.h"
#include "common/process/failures.h"
#include "common/process/process.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/call_span.h"
#include "common/service/disk_room.h"
#include "common/service/disk_watch.h"
#include "common/service/maintenance.h"
#include "common/service/metrics_access.h"
#include "common/service/quota_watch.h"
#include "common/service/request_meter.h"
#include "common/service/request_span.h"
#include "common/service/sas_signer.h"
#include "common/service/sharing.h"
#include "common/service/store_data.h"
#include "common/service/store_settings.h"
#include "common/shards/operation_ledgers.h"

namespace tidemark::service {
namespace {

/// If the file is faulty, the accounts stay as they are and the log says why.
void reload_accounts(const StoreSettings& settings, Front& front, Quotas& quotas) {
  if (settings.accounts_file.empty()) return;
  auto accounts = load_accounts(settings);
  if (!accounts) {
    log_error("the accounts are kept, because the new ones cannot be used reason=\"{}\"", accounts.error().message);
    return;
  }
  const auto count = accounts->size();
  quotas.use_accounts(*accounts);
  front.use_accounts(std::move(*accounts), settings.allowed_hosts);
  log_info("the accounts were read again file={} count={}", settings.accounts_file, count);
}

// Answers GET /healthz and /readyz before any authentication; they reveal nothing about data.
std::optional<http::Response> serve_health(const http::Request& request, const StoreData& stored) {
  if (request.method != "GET" && request.method != "HEAD") return std::nullopt;
  if (request.path != "/healthz" && request.path != "/readyz") return std::nullopt;
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = "ok\n";
  if (request.path == "/readyz") {
    auto trouble = stored.shards.failure();
    if (!trouble && stored.owners) trouble = stored.owners->failure();
    if (trouble) {
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

/// The parts of the process that answer requests beside the store.
struct Surroundings {
  Store& store;
  Front& front;
  const StoreData& stored;
  const process::Metrics& metrics;
  MetricsAccess metrics_access;
  RequestLimits& limits;
  tracing::Tracer& tracer;
  RequestMeter meter;
};

Task<http::Response> serve_metrics(Surroundings& face, const http::Request& request) {
  if (const auto admitted = face.metrics_access.admit(request); !admitted) co_return refuse_metrics(admitted.error());
  co_await face.store.before_metrics();
  http::Response response;
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.body = face.metrics.render();
  co_return response;
}

// Runs until `stopping` is notified. Does nothing while another process serves the shard, which keeps its ages itself.
Task<void> keep_ages(kv::AgeClock& ages, std::function<bool()> here, std::shared_ptr<Signal> stopping) {
  for (bool stopped = false; !stopped;) {
    const auto kept = co_await ages.keep();
    if (!kept && here()) process::log_failed_task("keep_ages", kept.error());
    stopped = co_await stopping->wait(ages, kv::kKeepAge);
  }
}

http::Response refuse_address(const Surroundings& face, const http::Request& request, const TooMuch& refusal) {
  const auto operation = std::string(request.method) + " " + std::string(request.path);
  process::log_failed_request(request.request_id, operation, refusal.error, request.trace);
  auto response = face.front.render_error(refusal.error, request.request_id);
  tell_when(refusal.retry_after_s, response);
  return response;
}

Task<http::Response> serve_metered(Surroundings& face, http::Request& request) {
  const auto begun = std::chrono::steady_clock::now();
  if (auto health = serve_health(request, face.stored)) co_return std::move(*health);
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

/// Returns the configured rates, and the service's targets if they are wanted.
AccountRates account_rates(const StoreSettings& settings, const StoreDescription& description) {
  auto rates = settings.of_account;
  if (!settings.service_targets) return rates;
  rates.items = description.targets.items;
  rates.part_items = description.targets.part_items;
  if (rates.requests == 0) rates.requests = description.targets.requests;
  return rates;
}

// Runs once an hour until `stopping` is notified. Another process that serves the shard drops its ledgers itself.
Task<void> drop_old_ledgers(std::vector<kv::Engine*> shards, std::size_t shard, Clock& clock, kv::FadingRows ledgers,
                            Duration retention, std::function<bool()> here, std::shared_ptr<Signal> stopping) {
  for (bool stopped = false; !stopped;) {
    Result<std::size_t> dropped = 0;
    if (here()) dropped = co_await shards::drop_faded_ledgers(shards, shard, ledgers, retention, clock.now());
    if (!dropped && here()) process::log_failed_task("drop_old_ledgers", dropped.error());
    if (dropped && *dropped > 0) log_info("forgot operations count={}", *dropped);
    stopped = co_await stopping->wait(clock, std::chrono::hours(1));
  }
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

/// Returns the address where users find this store, for the URLs of signatures.
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

std::vector<MeasuredShard> measured(const shards::StoredShards& shards) {
  std::vector<MeasuredShard> measured;
  for (const auto& engine : shards) {
    measured.push_back(
        {*engine, [&engine = *engine](const kv::KeyRange& range) { return engine.estimate_bytes(range); }});
  }
  return measured;
}

/// The resources of a store: everything that can fail before there is one. Members are destroyed from the last to the
/// first.
struct Ground {
  const StoreSettings& settings;
  const StoreDescription& description;
  const std::filesystem::path data = std::filesystem::absolute(settings.data);
  const std::filesystem::path folder = data / description.folder;
  std::vector<auth::Account> accounts = {};
  std::shared_ptr<http::Certificate> certificate = {};
  std::unique_ptr<TokenKeys> tokens = {};
  std::shared_ptr<rpc::AllowedKeys> allowed = {};
  std::optional<rpc::TcpListening> tcp = {};
  std::optional<process::PidFile> pid_file = {};
  std::optional<MetricsAccess> metrics_access = {};
  // Debian's RocksDB is built with assertions, and one fails if the disk fails while a database is opened or closed.
  std::optional<process::AssertionsEndTheStart> start = {};
  StoreData stored = {};
  const std::unique_ptr<Clock> clock = make_system_clock();
  const std::unique_ptr<Random> random = make_system_random();
  process::Metrics metrics = {};
  std::unique_ptr<tracing::Tracer> tracer = {};
  std::unique_ptr<http::Server> server = {};

  /// A walk over all rows would keep a database from removing rows that were deleted meanwhile.
  [[nodiscard]] ScrubSettings scrub() const {
    return in_database(settings) ? ScrubSettings{.mib_per_s = 0} : settings.scrub;
  }
  [[nodiscard]] bool syncs() const { return settings.durability == "fsync"; }
};

Result<void> prepare(Ground& ground) {
  const auto& settings = ground.settings;
  ground.accounts = TRY(load_accounts(settings));
  ground.certificate = TRY(http::Certificate::load(settings.tls));
  ground.tokens = TRY(TokenKeys::create(settings.tokens));
  ground.allowed = TRY(allowed_keys(settings.listen));
  ground.tcp = TRY(listening(settings.listen, ground.allowed));
  ground.pid_file.emplace(TRY(process::PidFile::create(ground.data, ground.description.process_name)));
  ground.metrics_access =
      TRY(MetricsAccess::create(settings.host, TRY(auth::bearer_token(ground.data, settings.token))));
  ground.start.emplace();
  ground.stored = TRY(open_data(settings, ground.data, ground.description));
  ground.tracer = TRY(tracing::Tracer::create(settings.tracing, ground.description.process_name, *ground.clock,
                                              *ground.random, ground.metrics));
  ground.server = TRY(http::bind_server(http_options(settings, ground.certificate), *ground.random));
  return {};
}

/// The store and everything around it, from the first coroutine to the last.
class RunningStore {
 public:
  RunningStore(Ground& ground, const StoreFactory& build);
  Result<void> run();

 private:
  Result<void> serve_internally();
  void begin_upkeep();
  void serve();
  process::Waited wait();
  void stop(process::Waited waited);
  void end_work(Duration grace);
  StoreContext context();
  /// Returns the directories on whose disks there must be room.
  [[nodiscard]] std::vector<std::filesystem::path> directories() const;

  Ground& ground_;
  const StoreSettings& settings_ = ground_.settings;
  const StoreDescription& description_ = ground_.description;
  shards::StoredShards& shards_ = ground_.stored.shards;
  http::Server& server_ = *ground_.server;
  std::deque<kv::AgeClock> ages_;           // of each shard
  const std::unique_ptr<Sharing> sharing_;  // null: all shards are here
  ShardWatch shard_watch_{shards_,
                          ground_.stored.process,
                          ground_.stored.owners.get(),
                          sharing_ ? &sharing_->router() : nullptr,
                          ground_.stored.counts,
                          *ground_.clock};
  analytics::Analytics analytics_{shards_.catalogue(), *ground_.clock, settings_.analytics, ground_.metrics};
  const std::unique_ptr<Store> store_;
  Front& front_ = store_->front();
  SasSigner signer_{front_.service(), front_, std::chrono::hours(settings_.sas_longest_h),
                    place_of(settings_, server_, ground_.certificate != nullptr)};
  StoreBackup backup_{shards_, store_->files_beside(), ground_.folder, description_.folder};
  StoreCheck check_{[this](kv::CheckRun& run) { return check_all(shards_, description_, ground_.folder, run); },
                    ground_.scrub(), ground_.metrics};
  Maintenance maintenance_{ground_.stored.identity, backup_, check_};
  Quotas quotas_{front_.service(), description_.unit, settings_.quotas, ground_.accounts, ground_.metrics};
  QuotaWatch quota_watch_{measured(shards_), quotas_, description_.holdings};
  const std::uint64_t min_free_bytes_ = static_cast<std::uint64_t>(settings_.min_free_mib) << 20;
  DiskMeter disk_{directories(), min_free_bytes_, ground_.metrics};
  RequestLimits limits_{settings_.of_address, account_rates(settings_, description_), ground_.metrics};
  UsageMeter usage_{{description_.unit, description_.partition}, settings_.usage, ground_.metrics};
  Surroundings face_{*store_,
                     front_,
                     ground_.stored,
                     ground_.metrics,
                     std::move(*ground_.metrics_access),
                     limits_,
                     *ground_.tracer,
                     RequestMeter(ground_.metrics)};
  std::unique_ptr<rpc::Server> internal_;
  const std::shared_ptr<Signal> stopping_ = std::make_shared<Signal>();
  std::vector<std::shared_ptr<process::Figures>> figures_;
};

StoreContext RunningStore::context() {
  shards::Shards shards{{}, shards_.placement(), sharing_ ? &sharing_->router() : nullptr};
  for (std::size_t i = 0; i < shards_.size(); ++i) {
    ages_.emplace_back(shards_[i], *ground_.clock);
    shards.all.push_back({shards_[i], ages_.back(), &shard_watch_.hot(i)});
  }
  return {std::move(shards),
          shards_.catalogue(),
          ages_.front(),
          *ground_.clock,
          *ground_.random,
          ground_.metrics,
          ground_.accounts,
          {.check_clock_skew = settings_.check_clock_skew,
           .trust_forwarded_proto = settings_.trust_forwarded_proto,
           .tokens = ground_.tokens ? ground_.tokens->check() : nullptr},
          server_.executor(),
          static_cast<std::size_t>(settings_.threads),
          ground_.folder,
          ground_.syncs()};
}

RunningStore::RunningStore(Ground& ground, const StoreFactory& build)
    : ground_(ground),
      sharing_(ground.stored.owners ? std::make_unique<Sharing>(*ground.stored.owners, *ground.clock,
                                                                ground.server->executor(), ground.settings)
                                    : nullptr),
      store_([&] {
        auto of_store = context();
        return build(of_store);
      }()) {
  front_.meter_by(usage_);
  front_.limit_by(limits_);
  front_.bound_by(quotas_);
  front_.use_accounts(ground_.accounts, settings_.allowed_hosts);
  front_.record_by(analytics_.recorder());
  if (sharing_) sharing_->serve(*store_);
}

Result<void> RunningStore::run() {
  if (auto served = serve_internally(); !served) {
    end_work(Duration::zero());
    if (sharing_) sharing_->close();
    ground_.server.reset();
    return served;
  }
  begin_upkeep();
  serve();
  stop(wait());
  return {};
}

Result<void> RunningStore::serve_internally() {
  rpc::Dispatch dispatch = shard_watch_.beside(
      disk_.beside(maintenance_.beside(quotas_.beside(signer_.beside(analytics_.beside(store_->internal_face()))))));
  if (sharing_) dispatch = sharing_->around(std::move(dispatch));
  const auto endpoint = internal_endpoint(ground_.data.string(), description_.folder);
  internal_ = TRY(rpc::serve({.endpoint = endpoint,
                              .max_in_flight = static_cast<std::size_t>(settings_.max_internal_calls),
                              .undelivered = store_->undelivered(dispatch),
                              .failed = &process::log_failed_call,
                              .traced = with_spans(*ground_.tracer, dispatch),
                              .tcp = std::move(ground_.tcp)},
                             server_.executor(), dispatch));
  const auto show = [this](auto read) {
    figures_.push_back(std::make_shared<process::Figures>(std::move(read)));
    ground_.metrics.add(figures_.back());
  };
  show(ground_.stored.figures);
  show([this] { return internal_figures(*internal_); });
  show([this] { return connection_figures(server_); });
  if (!sharing_) return {};
  show([this] { return sharing_->figures(); });
  return sharing_->claim(*internal_, endpoint, stopping_);
}

void RunningStore::begin_upkeep() {
  const auto here = [this](std::size_t shard) {
    return [this, shard] { return !sharing_ || sharing_->router().here(shard); };
  };
  for (std::size_t i = 0; i < ages_.size(); ++i) {
    spawn(server_.executor(), keep_ages(ages_[i], here(i), stopping_));
  }
  spawn(server_.executor(), analytics_.run());
  spawn(server_.executor(), shard_watch_.run(stopping_));
  if (!description_.ledgers) return;
  const std::chrono::hours retention(settings_.operation_retention_h);
  std::vector<kv::Engine*> shards;
  for (const auto& engine : shards_) shards.push_back(engine.get());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    spawn(server_.executor(),
          drop_old_ledgers(shards, i, ages_[i], *description_.ledgers, retention, here(i), stopping_));
  }
}

void RunningStore::serve() {
  server_.start(
      [this](http::Request& request) { return serve_metered(face_, request); },
      [this](const Error& error, const std::string& request_id) { return front_.render_error(error, request_id); });
  const auto elsewhere = internal_->tcp_address();
  process::announce_ready(description_.process_name + " " + server_.where() +
                          (elsewhere.empty() ? "" : " internal=" + elsewhere));
  ground_.start.reset();
}

std::vector<std::filesystem::path> RunningStore::directories() const {
  std::vector<std::filesystem::path> out{ground_.folder};
  if (const auto* beside = store_->files_beside()) out.push_back(beside->directory());
  return out;
}

process::Waited RunningStore::wait() {
  const DiskWatch disk(shards_,
                       {.directories = directories(),
                        .min_free_bytes = min_free_bytes_,
                        .restarted = process::listener_before().has_value(),
                        .recovered = ground_.stored.recovered},
                       &process::interrupt_wait);
  return process::wait_for_shutdown([this] {
    if (ground_.certificate) ground_.certificate->reload();
    if (ground_.tokens) ground_.tokens->reload();
    reload(ground_.allowed.get());
    reload_accounts(settings_, front_, quotas_);
  });
}

/// Ends requests, calls and the store's own background work. Nothing waits for anything afterwards.
void RunningStore::end_work(Duration grace) {
  store_->begin_shutdown();
  stopping_->notify_all();
  analytics_.stop();
  if (internal_) internal_->stop();
  server_.stop(grace);
  stopping_->notify_all();  // again, for coroutines that were busy then and wait now: each holds the Signal that it
                            // waits for, and so itself
  // I/O threads have ended. Work that they submitted completes before their coroutines, the store and the engine go.
  analytics_.finish();
  store_->drain();
  shards_.drain();
  if (sharing_) sharing_->stop();
}

void RunningStore::stop(process::Waited waited) {
  log_info("stopping");
  check_.stop();
  quota_watch_.stop();
  const auto listener =
      waited == process::Waited::kInterrupted ? std::optional(server_.keep_listening()) : std::nullopt;
  if (sharing_) sharing_->leave();
  end_work(std::chrono::seconds(settings_.shutdown_grace_s));
  if (listener) process::start_again(*listener);
  // A database whose log failed cannot be closed (Debian's build aborts), so it is left as a kill would leave it.
  if (const auto trouble = shards_.failure(); trouble && trouble->code == ErrorCode::kStorageFailure) {
    log_warning("stopped without closing the database, because its disk fails");
    process::leave();
  }
  internal_.reset();
  if (sharing_) sharing_->close();
  ground_.server.reset();
}

Result<void> serve_data(const StoreSettings& settings, const StoreDescription& description, const StoreFactory& build) {
  Ground ground{settings, description};
  TRY(prepare(ground));
  RunningStore store(ground, build);
  return store.run();
}

}  // namespace

int run_store(int argc, const char* const* argv, const StoreDescription& description, const StoreFactory& build) {
  StoreSettings values;
  values.port = description.default_port;
  process::Settings settings(description.process_name, description.summary);
  declare(settings, values, description.unit);
  if (description.declare_settings) description.declare_settings(settings);
  return process::run_program(description.process_name, settings, values.log, argc, argv, [&] {
    return values.fsck ? check_offline(values, description) : serve_data(values, description, build);
  });
}

}  // namespace tidemark::service
