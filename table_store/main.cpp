// The process of the table store: wiring only.
#include "common/base/data_formats.h"
#include "common/process/failures.h"
#include "common/service/store_process.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/rest/follower_metrics.h"
#include "table_store/rest/table_routes.h"
#include "table_store/storage/table_check.h"
#include "table_store/storage/table_holdings.h"
#include "table_store/storage/table_keys.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxShards = 64;

Result<void> check_data(std::span<const kv::Engine* const> shards, const shards::Placement& placement,
                        const std::filesystem::path&, kv::CheckRun& run) {
  return check_tables(shards, placement, run);
}

/// The other threads stay free for short requests, however many scans there are.
ScanLimits scan_limits(const service::StoreContext& context) {
  ScanLimits limits;
  limits.running = std::max<std::size_t>(1, context.io_threads / 2);
  return limits;
}

class TableStore final : public service::Store {
 public:
  explicit TableStore(service::StoreContext& context)
      : service_(context.shards, context.clock, context.random, scan_limits(context)),
        routes_(service_, context.clock, context.random, context.accounts, context.auth_policy),
        background_(context.background),
        metrics_(std::make_shared<FollowerMetrics>(service_, context.clock)) {
    if (context.shards.peers == nullptr) {
      process::spawn_in_background(context.background, "table.finish_drops", service_.finish_drops());
      process::spawn_in_background(context.background, "table.collect_garbage", service_.collect_garbage());
    }
    process::spawn_in_background(context.background, "table.let_changes_go", service_.let_changes_go());
    context.metrics.add(metrics_);
  }

  service::Front& front() override { return routes_; }
  void begin_shutdown() override { service_.begin_shutdown(); }
  rpc::Dispatch internal_face() override { return make_table_dispatch(service_); }
  void gained(std::size_t shard) override {
    process::spawn_in_background(background_, "table.gained", service_.gained(shard));
  }
  void lost(std::size_t shard) override { service_.lost(shard); }

 private:
  TableService service_;
  TableRoutes routes_;
  const Executor background_;
  std::shared_ptr<FollowerMetrics> metrics_;
};

}  // namespace
}  // namespace tidemark::table_store

int main(int argc, char** argv) {
  using namespace tidemark;
  const service::StoreDescription description{.process_name = "table_store",
                                              .folder = "table",
                                              .default_port = 10002,
                                              .summary = "Stores tables and speaks the Azure Table protocol.",
                                              .unit = "table",
                                              .partition = "partition",
                                              .ledgers = table_store::fading_operations(),
                                              .targets = {.items = 20'000, .part_items = 2'000},
                                              .format = data_format_of("table"),
                                              .holdings = {&table_store::each_table, {}, true},
                                              .max_shards = table_store::kMaxShards,
                                              .check_shards = &table_store::check_data,
                                              .shares = true};
  return service::run_store(argc, argv, description, [](service::StoreContext& context) {
    return std::make_unique<table_store::TableStore>(context);
  });
}
