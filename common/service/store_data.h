// The folder of a store: opened to be served, or checked while nothing else uses it.
#pragma once
#include <filesystem>
#include <memory>

#include "common/kv/check.h"
#include "common/kv/rocksdb_engine.h"
#include "common/service/maintenance.h"
#include "common/service/store_process.h"
#include "common/service/store_settings.h"

namespace tidemark::service {

struct StoreData {
  std::unique_ptr<kv::RocksDbEngine> engine;
  DataIdentity identity;
};

/// Only data of this store, in a format that it reads, is ever touched. kConfigInvalid, kStorageFailure, kCorruption.
Result<StoreData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                            const StoreDescription& description);

/// Every file and every row. What is wrong is told to `run`.
Result<void> check_all(const kv::StoredEngine& engine, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run);

/// The same while nothing else uses the folder; prints what is wrong as JSON, one finding a line. kCorruption if
/// anything is.
Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description);

}  // namespace tidemark::service
