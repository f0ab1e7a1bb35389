// Internal to rocksdb_*.cpp: an open database and what its errors mean. Include it nowhere else but in tests of what
// a disk may do.
#pragma once
#include <rocksdb/db.h>

#include <memory>

#include "common/kv/rocksdb_engine.h"

namespace tidemark::kv::detail {

/// Snapshots and cursors share it, so that the database closes only after the last of them.
using Database = std::shared_ptr<rocksdb::DB>;

/// On the machine's files, unless an `env` is given, which then outlives the database.
Result<Database> open_database(const RocksDbOptions& options, rocksdb::Env* env = nullptr);

/// open_rocksdb() on other files than the machine's: a test's, which forget what was not synced.
Result<std::unique_ptr<Engine>> open_rocksdb_on(const RocksDbOptions& options, rocksdb::Env* env);

/// The status as an Error: corruption, or a disk that refused; the log gets the whole text.
Error error_of(const rocksdb::Status& status);

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace tidemark::kv::detail
