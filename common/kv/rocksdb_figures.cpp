#include "common/kv/rocksdb_figures.h"

#include <cstdlib>

namespace tidemark::kv::detail {
namespace {

constexpr std::uint64_t kSyncBoundsUs[] = {100,    250,    500,     1'000,   2'500,     5'000,
                                           10'000, 25'000, 100'000, 500'000, 2'500'000, 10'000'000};

constexpr std::uint32_t kWanted[] = {
    rocksdb::BLOCK_CACHE_HIT,    rocksdb::BLOCK_CACHE_MISS,    rocksdb::MEMTABLE_HIT,
    rocksdb::MEMTABLE_MISS,      rocksdb::WAL_FILE_BYTES,      rocksdb::STALL_MICROS,
    rocksdb::COMPACT_READ_BYTES, rocksdb::COMPACT_WRITE_BYTES, rocksdb::FLUSH_WRITE_BYTES};

std::size_t place_of_this_thread() {
  static std::atomic<std::size_t> next{0};
  static thread_local const std::size_t place = next.fetch_add(1, std::memory_order_relaxed);
  return place;
}

}  // namespace

DatabaseCounters::DatabaseCounters() : log_syncs_us_(kSyncBoundsUs) {
  static_assert(std::size(kWanted) < kTickers);
  std::uint8_t index = 0;
  for (const auto ticker : kWanted) index_of_[ticker] = ++index;
  set_stats_level(rocksdb::StatsLevel::kExceptDetailedTimers);
}

void DatabaseCounters::recordTick(std::uint32_t ticker, std::uint64_t count) {
  const std::size_t index = ticker < index_of_.size() ? index_of_[ticker] : 0;
  if (index == 0) return;
  places_[place_of_this_thread() % kPlaces].ticks[index].fetch_add(count, std::memory_order_relaxed);
}

std::uint64_t DatabaseCounters::getTickerCount(std::uint32_t ticker) const {
  const std::size_t index = ticker < index_of_.size() ? index_of_[ticker] : 0;
  std::uint64_t sum = 0;
  for (const auto& place : places_) sum += index == 0 ? 0 : place.ticks[index].load(std::memory_order_relaxed);
  return sum;
}

bool DatabaseCounters::HistEnabledForType(std::uint32_t type) const {
  return type == rocksdb::WAL_FILE_SYNC_MICROS || type == rocksdb::COMPACTION_TIME || type == rocksdb::FLUSH_TIME;
}

void DatabaseCounters::recordInHistogram(std::uint32_t type, std::uint64_t value) {
  if (type == rocksdb::WAL_FILE_SYNC_MICROS) {
    log_syncs_us_.observe(value);
  } else if (type == rocksdb::COMPACTION_TIME) {
    compaction_us_.fetch_add(value, std::memory_order_relaxed);
    compactions_.fetch_add(1, std::memory_order_relaxed);
  } else if (type == rocksdb::FLUSH_TIME) {
    flush_us_.fetch_add(value, std::memory_order_relaxed);
    flushes_.fetch_add(1, std::memory_order_relaxed);
  }
}

void DatabaseCounters::fill(EngineFigures& figures) const {
  figures.log_syncs_us = log_syncs_us_.counts();
  figures.log_sync_bounds_us = kSyncBoundsUs;
  figures.log_bytes = getTickerCount(rocksdb::WAL_FILE_BYTES);
  figures.cache_hits = getTickerCount(rocksdb::BLOCK_CACHE_HIT);
  figures.cache_misses = getTickerCount(rocksdb::BLOCK_CACHE_MISS);
  figures.memtable_hits = getTickerCount(rocksdb::MEMTABLE_HIT);
  figures.memtable_misses = getTickerCount(rocksdb::MEMTABLE_MISS);
  figures.stalled_us = getTickerCount(rocksdb::STALL_MICROS);
  figures.compaction_read_bytes = getTickerCount(rocksdb::COMPACT_READ_BYTES);
  figures.compaction_written_bytes = getTickerCount(rocksdb::COMPACT_WRITE_BYTES);
  figures.flush_written_bytes = getTickerCount(rocksdb::FLUSH_WRITE_BYTES);
  figures.compactions = compactions_.load(std::memory_order_relaxed);
  figures.compaction_us = compaction_us_.load(std::memory_order_relaxed);
  figures.flushes = flushes_.load(std::memory_order_relaxed);
  figures.flush_us = flush_us_.load(std::memory_order_relaxed);
}

namespace {

using Properties = rocksdb::DB::Properties;

std::uint64_t property_of(rocksdb::DB& db, const std::string& property) {
  std::uint64_t value = 0;
  return db.GetIntProperty(property, &value) ? value : 0;
}

}  // namespace

StoredSize size_of(rocksdb::DB& db) {
  return {property_of(db, Properties::kEstimateNumKeys), property_of(db, Properties::kTotalSstFilesSize) +
                                                             property_of(db, Properties::kTotalBlobFileSize) +
                                                             property_of(db, Properties::kSizeAllMemTables)};
}

void fill_properties(rocksdb::DB& db, EngineFigures& figures) {
  const auto of = [&db](const std::string& property) { return property_of(db, property); };
  figures.pending_compaction_bytes = of(Properties::kEstimatePendingCompactionBytes);
  figures.running_compactions = of(Properties::kNumRunningCompactions);
  figures.running_flushes = of(Properties::kNumRunningFlushes);
  figures.delayed_write_bytes_per_s = of(Properties::kActualDelayedWriteRate);
  figures.writes_stopped = of(Properties::kIsWriteStopped) != 0;
  figures.file_bytes = of(Properties::kTotalSstFilesSize) + of(Properties::kTotalBlobFileSize);
  std::string youngest;  // this one comes as text
  if (db.GetProperty(Properties::kNumFilesAtLevelPrefix + "0", &youngest)) {
    figures.youngest_files = std::strtoull(youngest.c_str(), nullptr, 10);
  }
}

}  // namespace tidemark::kv::detail
