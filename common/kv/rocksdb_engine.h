// The engine on RocksDB. A writer thread combines waiting transactions into groups and writes each group to the log
// with one write and one fsync (group commit). While a group is being written, a helper thread fills the next one.
#pragma once
#include <filesystem>
#include <memory>
#include <span>

#include "common/base/histogram.h"
#include "common/kv/stored_engine.h"
#include "common/kv/stored_size.h"

namespace tidemark::kv {

enum class Durability {
  kFsync,  // no acknowledged write is lost in a power cut
  kOs,     // survives a crash of the process, not of the machine
};

struct RocksDbOptions {
  std::filesystem::path path;
  Durability durability = Durability::kFsync;
  std::size_t max_queued_transactions = 16384;
  std::size_t block_cache_bytes = 256UL << 20;
  std::size_t recent_rows_bytes = 32UL << 20;  // rows read a moment ago (recent_rows.h)
  std::size_t write_buffer_bytes = 64UL << 20;
  int write_buffers = 3;  // at most, including those that are being written to a file
  /// Values of at least this many bytes are kept apart from the keys, in files that compactions do not rewrite; 0:
  /// none.
  std::size_t apart_from_bytes = 0;
};

/// The engine's work since it was opened, and its present state. For metrics.
struct EngineFigures {
  // Groups are written to the log with one write and one sync each.
  Histogram::Counts group_transactions;  // the number in a group
  Histogram::Counts waits_us;            // of transactions, from submit() until they are durable
  Histogram::Counts log_syncs_us;        // none with Durability::kOs
  std::span<const std::uint64_t> group_bounds, wait_bounds_us, log_sync_bounds_us;
  std::uint64_t log_bytes = 0;

  std::uint64_t cache_hits = 0, cache_misses = 0;        // lookups of blocks
  std::uint64_t memtable_hits = 0, memtable_misses = 0;  // lookups of keys that are not in a file yet
  std::uint64_t recent_reads = 0, asked_reads = 0;       // of rows: from memory (recent_rows.h), and from the database

  std::uint64_t flushes = 0, flush_us = 0, flush_written_bytes = 0;
  std::uint64_t compactions = 0, compaction_us = 0, compaction_read_bytes = 0, compaction_written_bytes = 0;
  std::uint64_t running_flushes = 0, running_compactions = 0;
  std::uint64_t pending_compaction_bytes = 0;  // an estimate of the backlog of compactions
  std::uint64_t youngest_files = 0;            // of level 0: many slow writes down, more stop them
  std::uint64_t file_bytes = 0;

  std::uint64_t stalled_us = 0;                 // how long writes were held up
  std::uint64_t delayed_write_bytes_per_s = 0;  // the present speed limit of writes; 0: none
  bool writes_stopped = false;
};

class RocksDbEngine : public StoredEngine {
 public:
  /// This and the next one cost some microseconds. From any thread.
  [[nodiscard]] virtual EngineFigures figures() const = 0;
  /// Deleted and replaced rows count until they are compacted away.
  [[nodiscard]] virtual StoredSize size() const = 0;
};

/// Opens or creates the database. Errors name the remedy for a missing permission, a lock held by another process or a
/// corrupt file. The destructor completes the queued transactions and closes the database.
Result<std::unique_ptr<RocksDbEngine>> open_rocksdb(const RocksDbOptions& options);
/// Opens an existing database that no other process has open, and changes nothing; transactions fail.
Result<std::unique_ptr<StoredEngine>> open_rocksdb_to_read(const RocksDbOptions& options);

}  // namespace tidemark::kv
