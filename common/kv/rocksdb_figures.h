// Internal to rocksdb_*.cpp: the counters of an open database. The library reports nearly three hundred counters and
// times on every path; the unwanted ones end after a look at one byte. Thread safe.
#pragma once
#include <rocksdb/statistics.h>

#include <array>
#include <atomic>

#include "common/kv/rocksdb_database.h"

namespace tidemark::kv::detail {

class DatabaseCounters final : public rocksdb::Statistics {
 public:
  DatabaseCounters();
  const char* Name() const override { return "tidemark.DatabaseCounters"; }

  void recordTick(std::uint32_t ticker, std::uint64_t count) override;
  std::uint64_t getTickerCount(std::uint32_t ticker) const override;
  void setTickerCount(std::uint32_t, std::uint64_t) override {}
  std::uint64_t getAndResetTickerCount(std::uint32_t) override { return 0; }
  /// Times are taken for these alone.
  bool HistEnabledForType(std::uint32_t type) const override;
  void recordInHistogram(std::uint32_t type, std::uint64_t value) override;
  void histogramData(std::uint32_t, rocksdb::HistogramData* const) const override {}

  /// Fills in the figures that are counted here.
  void fill(EngineFigures& figures) const;

 private:
  // All I/O threads count reads for each level and block; each thread has a place of its own, as long as there are
  // places.
  static constexpr std::size_t kPlaces = 8;
  static constexpr std::size_t kTickers = 16;
  struct alignas(64) Place {
    std::array<std::atomic<std::uint64_t>, kTickers> ticks{};
  };

  std::array<std::uint8_t, rocksdb::TICKER_ENUM_MAX> index_of_{};  // 0: not wanted
  std::array<Place, kPlaces> places_;
  Histogram log_syncs_us_;
  std::atomic<std::uint64_t> compaction_us_{0}, compactions_{0}, flush_us_{0}, flushes_{0};
};

/// Fills in the figures that the database returns on request.
void fill_properties(rocksdb::DB& db, EngineFigures& figures);
/// Deleted and replaced rows count until they are compacted away.
StoredSize size_of(rocksdb::DB& db);

}  // namespace tidemark::kv::detail
