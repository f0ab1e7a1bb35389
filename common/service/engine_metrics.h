// The figures of the storage engine as metrics: tidemark_database_...
#pragma once
#include "common/kv/postgres_engine.h"
#include "common/kv/rocksdb_engine.h"
#include "common/process/metrics.h"

namespace tidemark::service {

std::vector<prometheus::MetricFamily> engine_figures(const kv::RocksDbEngine& engine);
std::vector<prometheus::MetricFamily> engine_figures(const kv::PostgresEngine& engine);

/// One family for what the shards have each, told apart by a label if there are several.
std::vector<prometheus::MetricFamily> by_shard(std::vector<std::vector<prometheus::MetricFamily>> of_shards);
/// The same of some shards, by their numbers: all have the label.
std::vector<prometheus::MetricFamily> with_shards(
    std::vector<std::pair<std::size_t, std::vector<prometheus::MetricFamily>>> of_shards);

}  // namespace tidemark::service
