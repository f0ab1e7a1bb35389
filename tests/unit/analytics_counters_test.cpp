// The columns of the metrics tables, and the names of tables and periods.
#include "common/analytics/counters.h"

#include <gtest/gtest.h>

#include <map>

namespace tidemark::analytics {
namespace {

std::map<std::string, double> columns(const Counters& counters) {
  std::map<std::string, double> out;
  for (const auto& column : columns_of(counters)) {
    std::visit([&](auto value) { out[column.name] = static_cast<double>(value); }, column.value);
  }
  return out;
}

LogRecord record(unsigned status, Login login = Login::kKey) {
  LogRecord out;
  out.http_status = status;
  out.outcome = outcome_of(status, false);
  out.login = login;
  out.request_head_bytes = 100;
  out.request_body_bytes = 10;
  out.response_head_bytes = 50;
  out.response_body_bytes = 5;
  out.end_to_end_ms = 4;
  out.server_ms = 2;
  return out;
}

TEST(MetricsColumns, CountWhatWasAnswered) {
  Counters counters;
  for (const auto& each : {record(200), record(201), record(200, Login::kSas), record(200, Login::kAnonymous),
                           record(404), record(403, Login::kSas), record(503), record(500)}) {
    counters.count(each);
  }
  auto row = columns(counters);
  EXPECT_EQ(row.size(), 14U + 24U);
  EXPECT_EQ(row["TotalRequests"], 8);
  EXPECT_EQ(row["TotalIngress"], 8 * 110);
  EXPECT_EQ(row["TotalEgress"], 8 * 55);
  EXPECT_EQ(row["TotalBillableRequests"], 6);  // without requests that the server refused or failed
  EXPECT_DOUBLE_EQ(row["Availability"], 100.0 * 6 / 7);
  EXPECT_EQ(row["AverageE2ELatency"], 4);
  EXPECT_EQ(row["AverageServerLatency"], 2);
  EXPECT_EQ(row["PercentSuccess"], 50);
  EXPECT_EQ(row["PercentThrottlingError"], 12.5);
  EXPECT_EQ(row["Success"], 2);
  EXPECT_EQ(row["SASSuccess"], 1);
  EXPECT_EQ(row["AnonymousSuccess"], 1);
  EXPECT_EQ(row["ClientOtherError"], 1);
  EXPECT_EQ(row["SASAuthorizationError"], 1);
  EXPECT_EQ(row["ThrottlingError"], 1);
  EXPECT_EQ(row["ServerOtherError"], 1);
}

TEST(MetricsColumns, OfAnHourWithoutRequestsAreAvailable) {
  auto row = columns({});
  EXPECT_EQ(row["Availability"], 100);
  EXPECT_EQ(row["PercentSuccess"], 100);
  EXPECT_EQ(row["AverageE2ELatency"], 0);
  EXPECT_EQ(row["TotalRequests"], 0);
}

TEST(Counters, AreStoredWhole) {
  Counters counters;
  counters.count(record(200));
  counters.count(record(503, Login::kSas));
  const auto read = decode_counters(encode_counters(counters));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(*read, counters);
  auto twice = counters;
  twice.add(*read);
  EXPECT_EQ(twice.of(Outcome::kSuccess), 2U);
  EXPECT_TRUE(decode_counters("").failed_with(ErrorCode::kCorruption));
}

TEST(MetricsTable, IsNamedByGrainAndService) {
  EXPECT_EQ(metrics_table(Grain::kHour, "blob"), "$MetricsHourPrimaryTransactionsBlob");
  EXPECT_EQ(metrics_table(Grain::kMinute, "queue"), "$MetricsMinutePrimaryTransactionsQueue");
  const auto time = *parse_iso8601("2026-11-23T01:59:30Z");
  EXPECT_EQ(partition_of(period_of(Grain::kHour, time)), "20261123T0100");
  EXPECT_EQ(partition_of(period_of(Grain::kMinute, time)), "20261123T0159");
  EXPECT_EQ(end_of_period(Grain::kMinute, period_of(Grain::kMinute, time)), *parse_iso8601("2026-11-23T02:00:00Z"));
}

}  // namespace
}  // namespace tidemark::analytics
