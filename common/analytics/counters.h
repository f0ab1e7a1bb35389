// The counters of the requests of an hour or a minute, and the columns of the metrics tables that show them. Pure.
#pragma once
#include <array>
#include <string>
#include <variant>
#include <vector>

#include "common/analytics/log_record.h"
#include "common/base/error.h"

namespace tidemark::analytics {

struct Counters {
  std::array<std::array<std::uint64_t, kLogins>, kOutcomes> answers{};
  std::uint64_t ingress = 0, egress = 0;           // bytes, including the heads
  std::uint64_t end_to_end_ms = 0, server_ms = 0;  // total of the successful requests

  void count(const LogRecord& record);
  void add(const Counters& other);
  [[nodiscard]] std::uint64_t of(Outcome outcome) const;
  bool operator==(const Counters&) const = default;
};

std::string encode_counters(const Counters& counters);
Result<Counters> decode_counters(std::string_view bytes);  // kCorruption

struct Column {
  std::string name;
  std::variant<std::int64_t, double> value;
};
/// Returns the columns in the order of the service's documentation.
std::vector<Column> columns_of(const Counters& counters);

enum class Grain : std::uint8_t { kHour = 1, kMinute = 2, kLast = kMinute };
/// The beginning of the hour or minute.
Time period_of(Grain grain, Time time);
Time end_of_period(Grain grain, Time period);
/// "20261123T0100", the partition of a period.
std::string partition_of(Time period);
/// "$MetricsHourPrimaryTransactionsBlob"
std::string metrics_table(Grain grain, std::string_view service);
inline constexpr std::string_view kCapacityTable = "$MetricsCapacityBlob";
/// Stands for all operations, in place of the name of one.
inline constexpr std::string_view kAllOperations = "All";

}  // namespace tidemark::analytics
