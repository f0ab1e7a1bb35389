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
/// Opens a database that is only read: it changes nothing, and cannot be written to.
Result<Database> open_database_to_read(const RocksDbOptions& options);

// These are for an open database; see StoredEngine.
Result<void> make_checkpoint(rocksdb::DB& db, const std::filesystem::path& directory);
Result<std::vector<StoredFile>> files_of(rocksdb::DB& db);
std::uint64_t estimate_bytes(rocksdb::DB& db, const KeyRange& range);

/// open_rocksdb() with the files of a test, which forget writes that were not synced.
Result<std::unique_ptr<RocksDbEngine>> open_rocksdb_on(const RocksDbOptions& options, rocksdb::Env* env);

/// While it lives, this thread's inserts begin their search at the last insert with the same prefix. Not for a batch
/// that erases ranges: the library keeps ranges in a list of their own, but would begin there at a place of the other
/// list, and corrupt it.
class HintedInserts {
 public:
  explicit HintedInserts(bool hinted) { on_ = hinted; }
  HintedInserts(const HintedInserts&) = delete;
  HintedInserts& operator=(const HintedInserts&) = delete;
  ~HintedInserts() { on_ = false; }
  static bool on() { return on_; }

 private:
  inline static thread_local bool on_ = false;
};

/// Turns a status into an Error: kCorruption or kStorageFailure, with the whole text as the detail for the log.
Error error_of(const rocksdb::Status& status);

inline rocksdb::Slice slice(std::string_view bytes) { return {bytes.data(), bytes.size()}; }
inline std::string_view view(const rocksdb::Slice& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace tidemark::kv::detail
