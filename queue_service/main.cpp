// The process of the queue service: wiring, and the settings that only it has.
#include "common/base/data_formats.h"
#include "common/process/failures.h"
#include "common/service/store_process.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/rest/queue_metrics.h"
#include "queue_service/rest/queue_routes.h"
#include "queue_service/storage/queue_check.h"
#include "queue_service/storage/queue_holdings.h"
#include "queue_service/storage/queue_keys.h"

namespace tidemark::queue_service {
namespace {

constexpr std::size_t kMaxShards = 64;

Result<void> check_data(const kv::Engine& engine, const std::filesystem::path&, kv::CheckRun& run) {
  return check_queues(engine, run);
}

struct QueueSettings {
  std::int64_t max_waiters = 10000;
  std::int64_t upkeep_interval_s = 60;
  std::int64_t metrics_max_queues = 200;
};

void declare_settings(process::Settings& settings, QueueSettings& values) {
  settings.add("max_waiters", values.max_waiters, 0, 1000000,
               "long polls at once; more are answered with 503 ServerBusy");
  settings.add("upkeep_interval_s", values.upkeep_interval_s, 1, 86400,
               "how often expired messages and dead idempotency keys are collected");
  settings.add("metrics_max_queues", values.metrics_max_queues, 0, 10000,
               "queues with metrics of their own; the others are summed up");
}

class QueueStore final : public service::Store {
 public:
  QueueStore(service::StoreContext& context, const QueueSettings& settings)
      : service_(context.shards, context.clock, context.random,
                 ServiceLimits{static_cast<std::size_t>(settings.max_waiters)}),
        routes_(service_, context.clock, context.accounts, context.auth_policy),
        background_(context.background),
        metrics_(std::make_shared<rest::QueueMetrics>(service_, context.clock,
                                                      static_cast<std::size_t>(settings.metrics_max_queues))) {
    process::spawn_in_background(context.background, "queue.collect_garbage", service_.collect_garbage());
    process::spawn_in_background(context.background, "queue.carry_on", service_.carry_on());
    spawn(context.background, service_.keep_up(std::chrono::seconds(settings.upkeep_interval_s)));
    context.metrics.add(metrics_);
  }

  service::Front& front() override { return routes_; }
  rpc::Dispatch internal_face() override { return make_queue_dispatch(service_); }
  rpc::UndeliveredHook undelivered(rpc::Dispatch dispatch) override {
    return make_undelivered_hook(std::move(dispatch));
  }
  void gained(std::size_t shard) override {
    process::spawn_in_background(background_, "queue.gained", service_.gained(shard));
  }
  void lost(std::size_t shard) override { service_.lost(shard); }
  Task<void> before_metrics() override { return metrics_->refresh(); }
  void begin_shutdown() override { service_.begin_shutdown(); }

 private:
  QueueService service_;
  rest::QueueRoutes routes_;
  const Executor background_;
  std::shared_ptr<rest::QueueMetrics> metrics_;
};

}  // namespace
}  // namespace tidemark::queue_service

int main(int argc, char** argv) {
  using namespace tidemark;
  queue_service::QueueSettings settings;
  const service::StoreDescription description{
      .process_name = "queue_service",
      .folder = "queue",
      .default_port = 10001,
      .summary = "Stores queues and speaks the Azure Queue protocol.",
      .unit = "queue",
      .ledgers = queue_service::queue_keys::fading_ledgers(),
      .targets = {.items = 20'000, .part_items = 2'000},
      .declare_settings = [&](auto& declared) { queue_service::declare_settings(declared, settings); },
      .format = data_format_of("queue"),
      .check = &queue_service::check_data,
      .holdings = {&queue_service::each_queue, {}},
      .max_shards = queue_service::kMaxShards,
      .shares = true};
  return service::run_store(argc, argv, description, [&](service::StoreContext& context) {
    return std::make_unique<queue_service::QueueStore>(context, settings);
  });
}
