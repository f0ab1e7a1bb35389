// A plan is made quickly, however large the table is.
#include "jobs/plan/plan.h"
#include "tests/support/loopback.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::jobs {
namespace {

constexpr int kRows = 3000;

/// Every reading is a step later.
class SteppingClock : public StandingClock {
 public:
  [[nodiscard]] Time now() const override { return Time() + step * ++looks_; }
  std::chrono::seconds step{0};

 private:
  mutable int looks_ = 0;
};

struct PlanTest : table_store::TableFixture {
  void SetUp() override {
    create("Large");
    for (int i = 0; i < kRows; i += 100) {
      std::vector<table_store::Mutation> batch;
      for (int n = i; n < i + 100; ++n) {
        batch.push_back(table_store::change(table_store::MutationKind::kInsert, std::to_string(10'000 + n)));
      }
      const auto written = run_task(tables.mutate("Large", "p", std::move(batch), std::nullopt));
      ASSERT_TRUE(written.has_value());
    }
  }
  JobPlan plan() {
    auto made = run_task(
        plan_job({jobs, poison, tables}, *parse_job_spec(R"({"kind":"delete","source":"Large","filter":""})")));
    EXPECT_TRUE(made.has_value()) << made.error().message;
    return made.value_or(JobPlan());
  }

  SteppingClock stepping;
  rpc::Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  queue_service::QueueClient queues{loopback, "acct"};
  JobStore jobs{tables, queues, stepping, *random};
  PoisonStore poison{jobs, queues};
};

TEST_F(PlanTest, CountsAllThatIsSelected) {
  const auto whole = plan();
  EXPECT_EQ(whole.keys, static_cast<std::uint64_t>(kRows));
  EXPECT_TRUE(whole.complete);
}

TEST_F(PlanTest, TellsWhatItHasWhenItTakesLong) {
  stepping.step = std::chrono::seconds(1);
  const auto part = plan();
  EXPECT_GE(part.keys, 1000U) << "a page at least";
  EXPECT_LT(part.keys, static_cast<std::uint64_t>(kRows));
  EXPECT_FALSE(part.complete);
}

}  // namespace
}  // namespace tidemark::jobs
