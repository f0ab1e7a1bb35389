// Internal to rocksdb_*.cpp: an open database, and the meaning of its errors. Only these files and tests of disk
// failures include it.
#pragma once
#include <rocksdb/db.h>

#include <memory>

#include "common/kv/rocksdb_engine.h"

namespace tidemark::kv::detail {

/// Snapshots and cursors share it, so the database is closed only after the last of them.
using Database = std::shared_ptr<rocksdb::DB>;

/// Uses the files of the machine unless there is an `env`, which must outlive the database.
Result<Database> open_database(const RocksDbOptions& options, rocksdb::Env* env = nullptr);

/// open_rocksdb() with the files of a test, which forget what was not synced.
Result<std::unique_ptr<Engine>> open_rocksdb_on(const RocksDbOptions& options, rocksdb::Env* env);

/// Turns a status into an Error: kCorruption or kStorageFailure, with the whole text as the detail for the log.
Error error_of(const rocksdb::Status& status);

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace tidemark::kv::detail
