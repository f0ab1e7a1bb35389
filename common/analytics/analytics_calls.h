// The calls by which a worker takes what a store has recorded, and says that it is where it belongs. All stores answer
// them (common/rpc/call.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/analytics/recorder.h"
#include "common/rpc/transport.h"

namespace tidemark::analytics {

/// One log as it is to be stored.
struct LogBatch {
  std::string account;
  Time hour;
  std::uint64_t number = 0;  // in its hour
  std::uint8_t accesses = 0;
  Time first, last;
  bool version_2 = false;
  std::string text;
};

/// A row of a metrics table as it is now. Of two versions, the higher one is newer.
struct MetricsRow {
  std::string account;
  Grain grain = Grain::kHour;
  Time period;
  std::string operation;
  std::uint64_t version = 0;
  std::string counters;  // decode_counters()
};

/// What is wanted of an account, as far as others than the store have to do with it.
struct AccountWants {
  std::string account;
  bool logs = false, hours = false, minutes = false;
  std::optional<std::uint32_t> log_days, hour_days, minute_days;
};

struct Collected {
  std::vector<LogBatch> logs;
  std::vector<MetricsRow> rows;
  std::vector<AccountWants> accounts;
};

namespace calls {

/// Some of what waits, and nothing while somebody else collects: whoever asked last, until he has not asked for a
/// while.
struct Collect {
  static constexpr std::string_view kMethod = "analytics.collect";
  using Reply = Collected;
  std::string collector;
};

struct SettledLog {
  std::string account;
  Time hour;
  std::uint64_t number = 0;
};
struct SettledRow {
  std::string account;
  Grain grain = Grain::kHour;
  Time period;
  std::string operation;
  std::uint64_t version = 0;
};
/// These are where they belong.
struct Settle {
  static constexpr std::string_view kMethod = "analytics.settle";
  using Reply = void;
  std::vector<SettledLog> logs;
  std::vector<SettledRow> rows;
};

}  // namespace calls
}  // namespace tidemark::analytics
