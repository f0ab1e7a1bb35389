// Takes the records of a store's requests, and holds them in bounded memory until the backlog keeps them. A request
// never waits for that: records without room are counted as lost. Thread safe.
#pragma once
#include <atomic>
#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "common/analytics/wanted.h"
#include "common/base/mutex.h"

namespace tidemark::analytics {

/// Some lines of the log of one hour.
struct LogPart {
  std::string text;
  std::uint8_t accesses = 0;  // of all lines
  Time first, last;           // when the first and the last request began
  LogVersion version = LogVersion::k1;
  std::uint64_t lines = 0;
};
inline constexpr std::size_t kMaxPartBytes = 1UL << 20;

/// LogKey names a log, RowKey a row of a metrics table.
struct LogKey {
  std::string account;
  Time hour;
  auto operator<=>(const LogKey&) const = default;
};
struct RowKey {
  std::string account;
  Grain grain = Grain::kHour;
  Time period;
  std::string operation;
  auto operator<=>(const RowKey&) const = default;
};
struct Recorded {
  std::map<LogKey, std::vector<LogPart>> logs;
  std::map<RowKey, Counters> rows;
  [[nodiscard]] bool empty() const { return logs.empty() && rows.empty(); }
};

class Recorder {
 public:
  /// Calls `filling`, on the thread of a request, when half of the room is taken.
  Recorder(std::size_t max_log_bytes, std::function<void()> filling)
      : max_log_bytes_(max_log_bytes), filling_(std::move(filling)) {}

  void want(const std::string& account, const Wanted& wanted);
  /// Returns the settings of each account that wants any records.
  [[nodiscard]] std::map<std::string, Wanted> wanted() const;
  /// Costs one load while no account wants any records.
  [[nodiscard]] bool wants(const std::string& account) const;
  /// `answered` decides the period in which the request counts.
  void record(const std::string& account, const LogRecord& record, Time answered);

  /// Returns all records since the last time. It always contains the current hour of an account that wants metrics.
  Recorded take(Time now);
  /// Counts more lines as lost.
  void lose(std::uint64_t lines) { lost_ += lines; }
  [[nodiscard]] std::uint64_t lost() const { return lost_.load(); }

 private:
  [[nodiscard]] Wanted wanted_of(const std::string& account) const;
  void log(const std::string& account, const LogRecord& record, LogVersion version);
  void count(const WantedMetrics& wanted, RowKey key, const LogRecord& record) REQUIRES(mutex_);

  const std::size_t max_log_bytes_;
  const std::function<void()> filling_;
  std::atomic<bool> anybody_{false};
  std::atomic<std::uint64_t> lost_{0};
  mutable Mutex mutex_;
  std::map<std::string, Wanted> wanted_ GUARDED_BY(mutex_);
  Recorded recorded_ GUARDED_BY(mutex_);
  std::size_t log_bytes_ GUARDED_BY(mutex_) = 0;
};

}  // namespace tidemark::analytics
