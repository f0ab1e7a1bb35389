// Opens a database: its options, and errors that tell people the remedy.
#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/env.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <system_error>

#include "common/base/log.h"
#include "common/kv/log_check.h"
#include "common/kv/rocksdb_database.h"
#include "common/kv/rocksdb_figures.h"
#include "common/kv/rocksdb_garbage.h"

namespace tidemark::kv::detail {
namespace {

namespace fs = std::filesystem;

// A piece of the cache holds no block that is larger than itself; such a block is read from the file each time. The
// filter of a full file with small rows takes several MiB.
constexpr std::size_t kCachePieceBytes = 16UL << 20;
constexpr int kMostCachePieceBits = 6;
// A compaction of young files also moves old values that are kept apart. The amount of these does not depend on the
// size of the young files, so the compaction waits until they have this many written bytes, however small each file is.
constexpr std::size_t kYoungBytes = 256UL << 20;
constexpr std::size_t kFewestYoungFiles = 4;
constexpr std::size_t kMostYoungFiles = 16;
constexpr int kYoungFilesToSlowDown = 16;  // begins above this number
constexpr int kYoungFilesToStop = 32;
constexpr std::size_t kMaxLogLine = 1024;     // the rest of a longer line is cut off
constexpr std::size_t kHintPrefixBytes = 10;  // a set of one queue

rocksdb::CompressionType best_compression() {
  const auto supported = rocksdb::GetSupportedCompressions();
  for (const auto type : {rocksdb::kLZ4Compression, rocksdb::kSnappyCompression}) {
    if (std::find(supported.begin(), supported.end(), type) != supported.end()) return type;
  }
  return rocksdb::kNoCompression;
}

/// Makes a cache of as many pieces, each with a lock of its own, as there is room for.
std::shared_ptr<rocksdb::Cache> block_cache(std::size_t bytes) {
  int bits = 0;
  while (bits < kMostCachePieceBits && (bytes >> (bits + 1)) >= kCachePieceBytes) ++bits;
  return rocksdb::NewLRUCache(bytes, bits);
}

rocksdb::BlockBasedTableOptions table_options(const RocksDbOptions& options) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = block_cache(options.block_cache_bytes);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.format_version = 5;
  // Indexes and filters count against the cache too, so memory stays bounded regardless of the amount stored.
  table.cache_index_and_filter_blocks = true;
  table.pin_l0_filter_and_index_blocks_in_cache = true;
  return table;
}

/// Extracts the beginning of a key, if hints are on.
class HintPrefix final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "tidemark.HintPrefix"; }
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override { return {key.data(), kHintPrefixBytes}; }
  bool InDomain(const rocksdb::Slice& key) const override {
    return HintedInserts::on() && key.size() >= kHintPrefixBytes;
  }
};

/// After a failed write to the log, the library would write its memory to files and sync the log once more. Debian's
/// build aborts there, and the content of the log is unknown: the database is opened anew instead (engine.h).
class NoRecoveryOfTheLog final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason reason, rocksdb::Status, bool* recover) override {
    using enum rocksdb::BackgroundErrorReason;
    if (reason == kWriteCallback || reason == kMemTable) *recover = false;
  }
};

/// Sends the library's messages to the log of the process. A log file of its own beside the data would fail with the
/// disk, and Debian's build aborts when it writes to a file after a failure.
class ProcessLog final : public rocksdb::Logger {
 public:
  ProcessLog() : Logger(rocksdb::InfoLogLevel::WARN_LEVEL) {}
  using Logger::Logv;
  void LogHeader(const char*, va_list) override {}  // options, a few hundred lines
  void Logv(rocksdb::InfoLogLevel level, const char* format, va_list arguments) override {
    if (level < GetInfoLogLevel() || level >= rocksdb::InfoLogLevel::HEADER_LEVEL) return;
    // A checkpoint keeps files from being deleted in two ways, and warns of that each time.
    if (std::string_view(format).contains("File Deletions ")) return;
    std::array<char, kMaxLogLine> line{};
    if (std::vsnprintf(line.data(), line.size(), format, arguments) < 0) return;
    if (level == rocksdb::InfoLogLevel::WARN_LEVEL) {
      log_warning("rocksdb: {}", line.data());
    } else {
      log_error("rocksdb: {}", line.data());
    }
  }
};

rocksdb::Options engine_options(const RocksDbOptions& options) {
  rocksdb::Options out;
  out.create_if_missing = true;
  out.paranoid_checks = true;
  // A process that dies leaves at most a torn record at the end of the log; any other unreadable record is damage to
  // acknowledged data and must be an error. Without fsync a power cut may tear the log anywhere, and that mode promises
  // only the records before the tear.
  out.wal_recovery_mode = options.durability == Durability::kFsync
                              ? rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords
                              : rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  out.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(options)));

  out.write_buffer_size = options.write_buffer_bytes;
  out.max_write_buffer_number = options.write_buffers;
  // A search for a key that is not in memory, as in every insert, need not walk the skip list.
  out.memtable_prefix_bloom_size_ratio = 0.05;
  out.memtable_whole_key_filtering = true;
  // Many writes, above all the places of a queue, are in the order of their keys below a prefix: such an insert begins
  // its search at the last insert with the prefix.
  out.memtable_insert_with_hint_prefix_extractor = std::make_shared<HintPrefix>();
  out.allow_concurrent_memtable_write = false;  // there is one writer
  out.max_background_jobs = 2;
  out.bytes_per_sync = 1UL << 20;
  out.level_compaction_dynamic_level_bytes = true;
  // Young levels are rewritten soon, so only data in the resting levels is compressed.
  out.compression_per_level.assign(static_cast<std::size_t>(out.num_levels), best_compression());
  out.compression_per_level[0] = rocksdb::kNoCompression;
  out.compression_per_level[1] = rocksdb::kNoCompression;
  out.bottommost_compression = best_compression();
  // Queues leave runs of tombstones that scans would walk over, so such files are compacted early.
  out.table_properties_collector_factories.push_back(rocksdb::NewCompactOnDeletionCollectorFactory(4096, 2048));

  if (options.apart_from_bytes > 0) {
    out.enable_blob_files = true;
    const auto young = std::clamp(kYoungBytes / options.write_buffer_bytes, kFewestYoungFiles, kMostYoungFiles);
    out.level0_file_num_compaction_trigger = static_cast<int>(young);
    out.level0_slowdown_writes_trigger = out.level0_file_num_compaction_trigger + kYoungFilesToSlowDown;
    out.level0_stop_writes_trigger = out.level0_file_num_compaction_trigger + kYoungFilesToStop;
    out.min_blob_size = options.apart_from_bytes;
    out.blob_file_size = 64UL << 20;
    out.blob_garbage_collection_age_cutoff = 0.5;
    out.blob_garbage_collection_force_threshold = 0.5;
    out.listeners.push_back(std::make_shared<GarbageWatch>());
  }

  // With this, a flipped bit anywhere in a file is found, not only in the parts that are read.
  out.file_checksum_gen_factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  out.listeners.push_back(std::make_shared<NoRecoveryOfTheLog>());
  out.statistics = std::make_shared<DatabaseCounters>();
  out.max_open_files = 512;
  out.skip_stats_update_on_db_open = true;
  // Without these dumps, an idle process stays idle.
  out.stats_dump_period_sec = 0;
  out.stats_persist_period_sec = 0;
  out.info_log = std::make_shared<ProcessLog>();
  out.info_log_level = out.info_log->GetInfoLogLevel();
  return out;
}

Error error_with(ErrorCode code, std::string message, std::string detail = {}) {
  return {code, std::move(message), std::move(detail), {}};
}

Error not_permitted(const fs::path& path, std::string detail) {
  return error_with(ErrorCode::kConfigInvalid,
                    "Cannot read and write the directory " + path.string() + ": check owner and permissions.",
                    std::move(detail));
}

Error damaged(const fs::path& path, std::string detail) {
  return error_with(ErrorCode::kCorruption,
                    "The database in " + path.string() +
                        " is damaged. Restore it from a backup, or move the directory away to start empty.",
                    std::move(detail));
}

Result<void> prepare_directory(const fs::path& path) {
  std::error_code ec;
  fs::create_directories(path, ec);
  if (ec == std::errc::permission_denied || ec == std::errc::read_only_file_system) {
    return fail(not_permitted(path, ec.message()));
  }
  if (ec || !fs::is_directory(path, ec)) {
    const auto why = ec ? ec.message() : std::string("something else has that name");
    return fail(error_with(ErrorCode::kConfigInvalid, "Cannot create the directory " + path.string() + ": " + why +
                                                          ". Check the configured path."));
  }
  if (::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK | X_OK, AT_EACCESS) != 0) {
    return fail(not_permitted(path, std::system_category().message(errno)));
  }
  return {};
}

/// Without CURRENT the library would take the directory for a new database and delete unknown files.
Result<void> refuse_headless_database(const fs::path& path) {
  std::error_code ec;
  if (fs::exists(path / "CURRENT", ec)) return {};
  auto entries = fs::directory_iterator(path, ec);
  for (; !ec && entries != fs::directory_iterator(); entries.increment(ec)) {
    const auto extension = entries->path().extension();
    std::error_code size_ec;
    const bool has_content = extension == ".sst" || (extension == ".log" && entries->file_size(size_ec) > 0);
    if (has_content) return fail(damaged(path, "CURRENT is missing beside " + entries->path().filename().string()));
  }
  if (ec) return fail(not_permitted(path, ec.message()));
  return {};
}

/// The library distinguishes causes only by their text.
Error open_error(const fs::path& path, const rocksdb::Status& status) {
  auto text = status.ToString();
  auto mentions = [&text](std::string_view part) { return text.find(part) != std::string::npos; };
  if (mentions("Permission denied") || mentions("Read-only file system")) return not_permitted(path, text);
  const bool lock_is_held = mentions("Resource temporarily unavailable") || mentions("lock hold by current process");
  if (mentions("LOCK") && lock_is_held) {
    return error_with(
        ErrorCode::kConfigInvalid,
        "Another process has this database open: " + path.string() + ". Stop it, or configure another directory.",
        text);
  }
  if (status.IsNoSpace() || mentions("No space left")) {
    return error_with(ErrorCode::kStorageFailure, "The disk of " + path.string() + " is full: make room.", text);
  }
  const bool file_is_missing = status.IsPathNotFound() || status.IsNotFound() || mentions("No such file");
  if (status.IsCorruption() || status.IsInvalidArgument() || status.IsNotSupported() || file_is_missing) {
    return damaged(path, text);
  }
  return error_with(ErrorCode::kStorageFailure, "The disk refused to open the database in " + path.string() + ".",
                    text);
}

/// The library takes a record that is longer than its log for one that was cut off, and drops it and all later ones. If
/// only its length is damaged, these records were acknowledged. Without fsync any end of the log may be lost.
Result<void> refuse_damaged_logs(const RocksDbOptions& options, rocksdb::Env& env) {
  std::vector<std::string> names;
  if (!env.GetChildren(options.path.string(), &names).ok()) return {};
  for (const auto& name : names) {
    const bool log = name.ends_with(".log") && options.durability == Durability::kFsync;
    if (!log && !name.starts_with("MANIFEST-")) continue;
    auto found = check_log(env, options.path / name, {});
    if (found && *found) return fail(damaged(options.path, name + ": " + **found));
  }
  return {};
}

}  // namespace

Error error_of(const rocksdb::Status& status) {
  return error_for_log(status.IsCorruption() ? ErrorCode::kCorruption : ErrorCode::kStorageFailure, status.ToString());
}

Result<Database> open_database(const RocksDbOptions& options, rocksdb::Env* env) {
  TRY(prepare_directory(options.path));
  TRY(refuse_headless_database(options.path));
  rocksdb::DB* db = nullptr;
  auto chosen = engine_options(options);
  if (env != nullptr) chosen.env = env;
  TRY(refuse_damaged_logs(options, *chosen.env));
  const auto status = rocksdb::DB::Open(chosen, options.path.string(), &db);
  if (!status.ok()) return fail(open_error(options.path, status));
  return Database(db);
}

Result<Database> open_database_to_read(const RocksDbOptions& options) {
  TRY(refuse_headless_database(options.path));
  auto chosen = engine_options(options);
  chosen.create_if_missing = false;
  TRY(refuse_damaged_logs(options, *chosen.env));
  rocksdb::DB* db = nullptr;
  const auto status = rocksdb::DB::OpenForReadOnly(chosen, options.path.string(), &db);
  if (!status.ok()) return fail(open_error(options.path, status));
  return Database(db);
}

}  // namespace tidemark::kv::detail
