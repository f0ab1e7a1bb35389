// The engine on RocksDB. A writer thread combines waiting transactions into groups and writes each group to the log
// with one write and one fsync (group commit). While a group is being written, a helper thread fills the next one.
#pragma once
#include <filesystem>
#include <memory>

#include "common/kv/stored_engine.h"

namespace tidemark::kv {

enum class Durability {
  kFsync,  // nothing acknowledged is lost to a power cut
  kOs,     // survives a crash of the process, not of the machine
};

struct RocksDbOptions {
  std::filesystem::path path;
  Durability durability = Durability::kFsync;
  std::size_t max_queued_transactions = 16384;
  std::size_t block_cache_bytes = 256UL << 20;
  std::size_t write_buffer_bytes = 64UL << 20;
  /// Values of at least so many bytes are kept apart from the keys, in files that compactions do not rewrite; 0: none.
  std::size_t apart_from_bytes = 0;
};

/// Opens or creates the database. Errors say what to do about a missing permission, a lock held by another process or a
/// corrupt file. The destructor completes what is queued and closes the database.
Result<std::unique_ptr<StoredEngine>> open_rocksdb(const RocksDbOptions& options);
/// Opens a database that is there and that no other process has open, and changes nothing; transactions fail.
Result<std::unique_ptr<StoredEngine>> open_rocksdb_to_read(const RocksDbOptions& options);

}  // namespace tidemark::kv
