// The folder of a store, opened to be served, or checked while no process uses it. Its rows are in the folder, or in
// the database that the settings name.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "common/kv/check.h"
#include "common/postgres/shard_owners.h"
#include "common/process/metrics.h"
#include "common/service/maintenance.h"
#include "common/service/shard_watch.h"
#include "common/service/store_process.h"
#include "common/service/store_settings.h"
#include "common/shards/stored_shards.h"

namespace tidemark::service {

struct StoreData {
  shards::StoredShards shards;
  DataIdentity identity;
  std::function<std::vector<prometheus::MetricFamily>()> figures = {};
  /// Tells whether the engine's storage answers again after a failure; empty: if the disk takes writes.
  std::function<bool()> recovered = {};
  ShardCounts counts = {};
  /// The name of this process among those of the stack.
  std::string process = {};
  /// The owners of the shards, if other processes share them. Null: all are here.
  std::unique_ptr<kv::ShardOwners> owners = {};
};

[[nodiscard]] bool in_database(const StoreSettings& settings);

/// Opens the data. Only touches data of this store in a format that it reads. kConfigInvalid, kStorageFailure,
/// kCorruption.
Result<StoreData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                            const StoreDescription& description);

/// Checks every file and every row, and reports findings to `run`.
Result<void> check_all(const shards::StoredShards& shards, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run);

/// Does the same while no process uses the folder; prints each finding as a line of JSON. kCorruption if there are
/// findings.
Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description);

}  // namespace tidemark::service
