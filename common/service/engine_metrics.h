// The figures of the storage engine as metrics: tidemark_database_...
#pragma once
#include "common/kv/rocksdb_engine.h"
#include "common/postgres/postgres_engine.h"
#include "common/process/metrics.h"

namespace tidemark::service {

std::vector<prometheus::MetricFamily> engine_figures(const kv::RocksDbEngine& engine);
std::vector<prometheus::MetricFamily> engine_figures(const kv::PostgresEngine& engine);

/// Joins the families of all shards into one family per metric, with a label for the shard if there are several.
std::vector<prometheus::MetricFamily> by_shard(std::vector<std::vector<prometheus::MetricFamily>> of_shards);
/// Does the same for some of the shards, given with their numbers: all get the label.
std::vector<prometheus::MetricFamily> with_shards(
    std::vector<std::pair<std::size_t, std::vector<prometheus::MetricFamily>>> of_shards);

}  // namespace tidemark::service
