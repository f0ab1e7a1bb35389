// The calls by which a worker takes the records of a store, and says that it has written them to their destination. All
// stores answer them (common/rpc/call.h).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/analytics/recorder.h"
#include "common/rpc/transport.h"

namespace tidemark::analytics {

/// One log, ready to be stored.
struct LogBatch {
  std::string account;
  Time hour;
  std::uint64_t number = 0;  // within its hour
  std::uint8_t accesses = 0;
  Time first, last;
  bool version_2 = false;
  std::string text;
};

/// The present row of a metrics table. Of two versions, the higher one is newer.
struct MetricsRow {
  std::string account;
  Grain grain = Grain::kHour;
  Time period;
  std::string operation;
  std::uint64_t version = 0;
  std::string counters;  // see decode_counters()
};

/// The records that an account wants, as far as processes other than the store need to know.
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

/// Returns some of the waiting records. Only one collector at a time gets any: the one that asked last, until it has
/// not asked for a while. The others get nothing.
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
/// These logs and rows have been written to their destination.
struct Settle {
  static constexpr std::string_view kMethod = "analytics.settle";
  using Reply = void;
  std::vector<SettledLog> logs;
  std::vector<SettledRow> rows;
};

}  // namespace calls
}  // namespace tidemark::analytics
