#include "common/service/shard_figures.h"

#include "common/process/metrics.h"
#include "common/service/engine_metrics.h"

namespace tidemark::service {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

}  // namespace

std::vector<MetricFamily> shard_figures(const kv::ShardOwners& owners) {
  MetricFamily owned{"tidemark_shard_owned", "1 if this process serves the shard.", MetricType::Gauge, {}};
  MetricFamily epoch{"tidemark_shard_epoch", "Rises with each change of owner.", MetricType::Gauge, {}};
  MetricFamily lease{
      "tidemark_shard_lease_seconds", "For how long this process's lease is good.", MetricType::Gauge, {}};
  MetricFamily served{
      "tidemark_shard_served_seconds", "Since when this process serves the shard.", MetricType::Gauge, {}};
  MetricFamily takeovers{"tidemark_shard_takeovers_total",
                         "How often this process took the shard from one that had died or was cut off.",
                         MetricType::Counter,
                         {}};
  const auto shown = owners.show();
  std::vector<std::pair<std::size_t, std::vector<MetricFamily>>> engines;
  for (std::size_t shard = 0; shard < shown.size(); ++shard) {
    const auto& one = shown[shard];
    const auto add = [&](MetricFamily& family, double value) {
      process::add_value(family, value, {{"shard", std::to_string(shard)}});
    };
    add(owned, one.here ? 1 : 0);
    add(epoch, static_cast<double>(one.epoch));
    add(takeovers, static_cast<double>(one.takeovers));
    if (one.here) add(lease, std::max(0.0, std::chrono::duration<double>(one.lease_left).count()));
    if (one.here) add(served, std::chrono::duration<double>(one.served_for).count());
    if (one.engine) engines.emplace_back(shard, engine_figures(*one.engine));
  }
  auto all = with_shards(std::move(engines));
  all.push_back(std::move(owned));
  all.push_back(std::move(epoch));
  all.push_back(std::move(lease));
  all.push_back(std::move(served));
  all.push_back(std::move(takeovers));
  all.push_back(process::figure("tidemark_store_processes", "Processes that share the shards and live.",
                                MetricType::Gauge, static_cast<double>(owners.processes().size())));
  return all;
}

}  // namespace tidemark::service
