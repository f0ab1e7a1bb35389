// The records that have not been collected yet, kept durably in the store's own database, so that they survive a
// restart of the store and the absence of workers. A row of metrics exists as long as something may still be added to
// it: it is a sum that only rises, with a version. A worker may therefore copy it as often as it likes, and nothing is
// counted twice.
//   'y' 'l' text(account) u64(hour) u64(number)                        a log that waits
//   'y' 'n' text(account) u64(hour)                                    the number of the next log of the hour
//   'y' 'r' text(account) u64(grain) u64(period) text(operation)       a row of metrics
// Thread safe.
#pragma once
#include <atomic>
#include <memory>

#include "common/analytics/analytics_calls.h"
#include "common/kv/engine.h"

namespace tidemark::analytics {

/// The first byte of the backlog's keys; no store uses it for other keys.
inline constexpr char kAnalyticsKeys = 'y';
/// How long after its end a period may still grow, and its row is kept.
inline constexpr Duration kOpenAfterEnd = std::chrono::hours(1);

class Backlog {
 public:
  /// Adds up the stored logs, which takes a moment if there are many.
  Backlog(kv::Engine& engine, std::size_t max_log_bytes);

  /// Returns the number of log lines that are lost because too many wait already.
  Task<Result<std::uint64_t>> keep(const Recorded& recorded, Time now);
  /// Does the same at the end of the process, where only Engine::drain() waits for it.
  void keep_at_end(Recorded recorded, Time now);
  /// Returns some of the waiting records, about 4 MiB at most. Erases rows that are settled and cannot change any more.
  Task<Result<Collected>> collect(Time now);
  Task<Result<void>> settle(calls::Settle settled);
  [[nodiscard]] std::uint64_t log_bytes() const { return log_bytes_.load(); }

 private:
  [[nodiscard]] bool full() const { return log_bytes_.load() >= max_log_bytes_; }

  kv::Engine& engine_;
  const std::size_t max_log_bytes_;
  std::atomic<std::uint64_t> log_bytes_{0};  // of the texts that wait
};

}  // namespace tidemark::analytics
