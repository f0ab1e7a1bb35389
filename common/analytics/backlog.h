// What was recorded and is not yet where it belongs, durably in the store's own database, so that it survives the
// store, and workers that are away. A row of metrics is there as long as anything may still be added to it: a sum that
// only rises, with a version. So whoever copies it may do so as often as he likes, and nothing is counted twice.
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

/// The first byte of its keys; no store has other keys with it.
inline constexpr char kAnalyticsKeys = 'y';
/// How long after its end something may still be added to a period, and its row is kept.
inline constexpr Duration kOpenAfterEnd = std::chrono::hours(1);

class Backlog {
 public:
  /// Counts what is there, so it takes a moment if that is much.
  Backlog(kv::Engine& engine, std::size_t max_log_bytes);

  /// How many lines of logs are lost, because too much waits already.
  Task<Result<std::uint64_t>> keep(const Recorded& recorded, Time now);
  /// The same for the end of the process: nobody waits for it but Engine::drain().
  void keep_at_end(Recorded recorded, Time now);
  /// Some of what waits: at most about 4 MiB. Forgets rows that are where they belong and do not change any more.
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
