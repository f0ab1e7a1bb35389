// From a request to the report that a worker collects: nothing is counted twice, even if processes die in between, and
// everything is bounded.
#include "tests/unit/analytics_fixture.h"

namespace tidemark::analytics {
namespace {

using std::chrono::hours;
using std::chrono::minutes;

std::uint64_t lines_in(const LogBatch& log) {
  return static_cast<std::uint64_t>(std::count(log.text.begin(), log.text.end(), '\n'));
}

std::vector<std::string> names(const Collected& collected) {
  std::vector<std::string> out;
  for (const auto& log : collected.logs) out.push_back(log_name("blob", log.hour, log.number));
  return out;
}

class AnalyticsTest : public AnalyticsFixture {};

TEST_F(AnalyticsTest, NobodyWantsAnything) {
  EXPECT_FALSE(analytics_->recorder().wants("acc"));
  want_everything();
  EXPECT_TRUE(analytics_->recorder().wants("acc"));
  EXPECT_FALSE(analytics_->recorder().wants("other"));
  analytics_->recorder().want("acc", {});
  EXPECT_FALSE(analytics_->recorder().wants("acc"));
}

TEST_F(AnalyticsTest, LogsWhatIsWantedOnly) {
  Wanted writes;
  writes.write = true;
  analytics_->recorder().want("acc", writes);
  answer();
  flush();
  EXPECT_TRUE(collect().logs.empty());
}

TEST_F(AnalyticsTest, AFlushIsALogWithANumberOfItsHour) {
  want_everything();
  answer();
  answer("ListBlobs");
  flush();
  answer();
  flush();
  clock_.time += hours(1);
  answer();
  flush();
  const auto collected = collect();
  EXPECT_EQ(names(collected),
            (std::vector<std::string>{"blob/2026/11/23/0100/000000.log", "blob/2026/11/23/0100/000001.log",
                                      "blob/2026/11/23/0200/000000.log"}));
  EXPECT_EQ(lines_in(collected.logs[0]), 2U);
  EXPECT_EQ(log_type(collected.logs[0].accesses), "read");
}

TEST_F(AnalyticsTest, WhatWasKeptOutlivesTheStore) {
  want_everything();
  answer();
  flush();
  answer();  // lost with the process
  restart();
  want_everything();
  answer();
  flush();
  const auto collected = collect();
  EXPECT_EQ(names(collected),
            (std::vector<std::string>{"blob/2026/11/23/0100/000000.log", "blob/2026/11/23/0100/000001.log"}));
  EXPECT_EQ(requests(collected, Grain::kHour, "All"), 2U);
}

TEST_F(AnalyticsTest, TheLastIsKeptWhenTheStoreEnds) {
  want_everything();
  answer();
  analytics_->finish();
  engine_->drain();
  restart();
  EXPECT_EQ(requests(collect(), Grain::kHour, "GetBlob"), 1U);
}

TEST_F(AnalyticsTest, IsThereAgainUntilItIsSettled) {
  want_everything();
  answer();
  flush();
  const auto first = collect();
  const auto again = collect();
  EXPECT_EQ(names(again), names(first));
  ASSERT_EQ(again.rows.size(), first.rows.size());
  for (std::size_t i = 0; i < first.rows.size(); ++i) EXPECT_EQ(again.rows[i].version, first.rows[i].version);
  settle(first);
  EXPECT_TRUE(collect().logs.empty());
  EXPECT_TRUE(collect().rows.empty());
  settle(first);  // a worker that wakes late
  EXPECT_TRUE(collect().rows.empty());
}

TEST_F(AnalyticsTest, ARowIsASumWhateverWasSettledMeanwhile) {
  want_everything();
  answer();
  flush();
  const auto first = collect();
  answer();
  flush();
  settle(first);
  const auto second = collect();
  EXPECT_EQ(requests(second, Grain::kHour, "All"), 2U);
  EXPECT_EQ(requests(second, Grain::kHour, "GetBlob"), 2U);
  settle(second);
  restart();
  want_everything();
  answer("ListBlobs");
  flush();
  const auto third = collect();
  EXPECT_EQ(requests(third, Grain::kHour, "All"), 3U);
  EXPECT_EQ(requests(third, Grain::kHour, "ListBlobs"), 1U);
}

TEST_F(AnalyticsTest, PeriodsAreOfTheAnswer) {
  want_everything();
  clock_.time = *parse_iso8601("2026-11-23T01:59:59Z");
  answer();
  clock_.time += std::chrono::seconds(1);
  answer();
  answer();
  flush();
  std::map<std::string, std::uint64_t> counts;
  for (const auto& row : collect().rows) {
    if (row.operation == "All") {
      counts[std::to_string(static_cast<int>(row.grain)) + partition_of(row.period)] =
          decode_counters(row.counters)->of(Outcome::kSuccess);
    }
  }
  EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{
                        {"120261123T0100", 1}, {"120261123T0200", 2}, {"220261123T0159", 1}, {"220261123T0200", 2}}));
}

TEST_F(AnalyticsTest, AnHourWithoutRequestsHasARow) {
  want_everything();
  flush();
  const auto collected = collect();
  EXPECT_EQ(collected.rows.size(), 2U);  // for the hour and for the minute
  EXPECT_EQ(requests(collected, Grain::kHour, "All"), 0U);
}

TEST_F(AnalyticsTest, ARowThatIsOverIsForgottenAndNeverBeginsAnew) {
  want_everything();
  answer();
  flush();
  settle(collect());
  clock_.time += hours(3);
  (void)collect();  // forgets it
  LogRecord late;
  late.started = clock_.time - hours(3);
  late.operation = {"GetBlob", Access::kRead};
  analytics_->recorder().record("acc", late, late.started);
  flush();
  for (const auto& row : collect().rows) EXPECT_GE(end_of_period(row.grain, row.period) + kOpenAfterEnd, clock_.time);
}

TEST_F(AnalyticsTest, OneCollectsAtATime) {
  want_everything();
  answer();
  flush();
  EXPECT_EQ(collect("a").logs.size(), 1U);
  EXPECT_EQ(collect("b").logs.size(), 0U);
  clock_.time += std::chrono::seconds(31);  // nobody has heard from a
  EXPECT_EQ(collect("b").logs.size(), 1U);
  EXPECT_EQ(collect("a").logs.size(), 0U);
}

TEST_F(AnalyticsTest, TellsWhatAccountsWant) {
  want_everything();
  const auto wants = collect().accounts;
  ASSERT_EQ(wants.size(), 1U);
  EXPECT_TRUE(wants[0].logs && wants[0].hours && wants[0].minutes);
  EXPECT_EQ(wants[0].log_days, 7U);
}

TEST_F(AnalyticsTest, MemoryIsBoundedAndWhatIsLostIsCounted) {
  settings_.buffer_mib = 1;
  restart();
  want_everything();
  const std::string url(10'000, 'x');
  for (int i = 0; i < 200; ++i) answer("GetBlob", url);
  const auto lost = analytics_->recorder().lost();
  EXPECT_GT(lost, 90U);
  EXPECT_LT(lost, 110U);
  flush();
  const auto collected = collect();
  std::uint64_t lines = 0;
  for (const auto& log : collected.logs) lines += lines_in(log);
  EXPECT_EQ(lines + lost, 200U);
  EXPECT_EQ(requests(collected, Grain::kHour, "All"), 200U);  // counted requests need no room
  EXPECT_NE(metrics_.render().find("tidemark_analytics_lost_lines_total " + std::to_string(lost)), std::string::npos);
}

TEST_F(AnalyticsTest, TheBacklogIsBounded) {
  settings_.backlog_mib = 1;
  restart();
  want_everything();
  const std::string url(10'000, 'x');
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 100; ++i) answer("GetBlob", url);
    flush();
  }
  EXPECT_EQ(analytics_->recorder().lost(), 200U);
  settle(collect());
  answer();
  flush();
  EXPECT_EQ(collect().logs.size(), 1U);
}

TEST_F(AnalyticsTest, PartsAreWholeLinesOfAMebibyteAtMost) {
  want_everything();
  const std::string url(10'000, 'x');
  for (int i = 0; i < 300; ++i) answer("GetBlob", url);
  flush();
  std::uint64_t lines = 0;
  for (const auto& log : collect().logs) {
    EXPECT_LE(log.text.size(), kMaxPartBytes);
    EXPECT_TRUE(log.text.starts_with("1.0;") && log.text.ends_with("\n"));
    lines += lines_in(log);
  }
  EXPECT_EQ(lines, 300U);
}

}  // namespace
}  // namespace tidemark::analytics
