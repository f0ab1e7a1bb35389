// Metrics of the shards that several processes share, as this one sees them.
#pragma once
#include <prometheus/metric_family.h>

#include <vector>

#include "common/kv/shard_owners.h"

namespace tidemark::service {

/// Who has them, and what their engines do that are here.
std::vector<prometheus::MetricFamily> shard_figures(const kv::ShardOwners& owners);

}  // namespace tidemark::service
