// The folder of a store: opened to be served, or checked while nothing else uses it. Its rows are in the folder, or in
// the database that the settings name.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include "common/kv/check.h"
#include "common/kv/shard_owners.h"
#include "common/kv/stored_shards.h"
#include "common/process/metrics.h"
#include "common/service/maintenance.h"
#include "common/service/shard_watch.h"
#include "common/service/store_process.h"
#include "common/service/store_settings.h"

namespace tidemark::service {

struct StoreData {
  kv::StoredShards shards;
  DataIdentity identity;
  std::function<std::vector<prometheus::MetricFamily>()> figures = {};
  /// Whether what the engine rests on answers again, once that has failed; empty: if the disk takes writes.
  std::function<bool()> recovered = {};
  ShardCounts counts = {};
  /// Names this process where that counts.
  std::string process = {};
  /// If other processes share the shards: who has which. Null: all are here.
  std::unique_ptr<kv::ShardOwners> owners = {};
};

[[nodiscard]] bool in_database(const StoreSettings& settings);

/// Only data of this store, in a format that it reads, is ever touched. kConfigInvalid, kStorageFailure, kCorruption.
Result<StoreData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                            const StoreDescription& description);

/// Every file and every row. What is wrong is told to `run`.
Result<void> check_all(const kv::StoredShards& shards, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run);

/// The same while nothing else uses the folder; prints what is wrong as JSON, one finding a line. kCorruption if
/// anything is.
Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description);

}  // namespace tidemark::service
