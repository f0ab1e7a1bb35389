// Metrics of the shards that several processes share, as seen by this process.
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "common/postgres/shard_owners.h"

namespace tidemark::service {

/// Returns metrics of the shards' owners, and of the engines in this process.
std::vector<prometheus::MetricFamily> shard_figures(const kv::ShardOwners& owners);

}  // namespace tidemark::service
