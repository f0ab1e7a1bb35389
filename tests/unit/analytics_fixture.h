// The analytics of a store on an engine in memory, with a standing clock.
#pragma once
#include <gtest/gtest.h>

#include "common/analytics/analytics.h"
#include "tests/support/memory_engine.h"
#include "tests/support/standing_clock.h"
#include "tests/support/task_runner.h"

namespace tidemark::analytics {

class AnalyticsFixture : public testing::Test, protected TaskRunner {
 protected:
  void restart() { analytics_ = std::make_unique<Analytics>(*engine_, clock_, settings_, metrics_); }
  void want_everything() {
    Wanted wanted;
    wanted.read = wanted.write = wanted.remove = true;
    wanted.log_days = 7;
    wanted.hour = {true, true, 7};
    wanted.minute = {true, false, 7};
    analytics_->recorder().want("acc", wanted);
  }
  void answer(std::string_view operation = "GetBlob", std::string url = "http://h/acc/c/b") {
    LogRecord record;
    record.started = clock_.time;
    record.operation = {operation, Access::kRead};
    record.url = std::move(url);
    record.owner = "acc";
    record.service = "blob";
    analytics_->recorder().record("acc", record, clock_.time);
  }
  void flush() { ASSERT_TRUE(run(analytics_->flush()).has_value()); }
  Collected collect(std::string by = "w") {
    auto collected = run(analytics_->collect({std::move(by)}));
    EXPECT_TRUE(collected.has_value());
    return collected ? std::move(*collected) : Collected();
  }
  void settle(const Collected& collected) {
    calls::Settle all;
    for (const auto& log : collected.logs) all.logs.push_back({log.account, log.hour, log.number});
    for (const auto& row : collected.rows) {
      all.rows.push_back({row.account, row.grain, row.period, row.operation, row.version});
    }
    ASSERT_TRUE(run(analytics_->settle(std::move(all))).has_value());
  }
  static std::uint64_t requests(const Collected& collected, Grain grain, std::string_view operation) {
    std::uint64_t sum = 0;
    for (const auto& row : collected.rows) {
      if (row.grain != grain || row.operation != operation) continue;
      const auto counters = decode_counters(row.counters);
      EXPECT_TRUE(counters.has_value());
      if (counters) sum += counters->of(Outcome::kSuccess);
    }
    return sum;
  }

  StandingClock clock_{*parse_iso8601("2026-11-23T01:30:00Z")};
  AnalyticsSettings settings_;
  process::Metrics metrics_;
  std::unique_ptr<kv::Engine> engine_ = kv::make_memory_engine();
  std::unique_ptr<Analytics> analytics_ = std::make_unique<Analytics>(*engine_, clock_, settings_, metrics_);
};

}  // namespace tidemark::analytics
