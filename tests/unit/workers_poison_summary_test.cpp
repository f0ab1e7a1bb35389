// The summary of poison by groups: exact while there is little poison, and never counted twice without need.
#include "jobs/poison/poison_summary.h"
#include "tests/support/standing_clock.h"
#include "tests/unit/workers_fixture.h"

namespace tidemark::workers {
namespace {

class PoisonSummaryTest : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    queue_link_.before = [this](std::string method) -> Task<Result<void>> {
      if (method == "queue.list") ++lists_;
      if (method == "queue.figures" && away_) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>();
    };
  }
  void poison(const std::string& source, int count) {
    for (int i = 0; i < count; ++i) {
      submit(R"({"kind":"delete","source":")" + source + R"(","filter":""})");
      ASSERT_EQ(work_next().end, RunEnd::kPoisoned);
    }
  }
  Result<jobs::PoisonSum> read(jobs::PoisonFilter which = {}) {
    reads_clock_.time += std::chrono::seconds(1);
    return run(summary_->read(std::move(which)));
  }

  StandingClock reads_clock_;  // a walk takes no time, however slow the machine is, so no reader gets an older one
  std::shared_ptr<jobs::PoisonSummary> summary_ = std::make_shared<jobs::PoisonSummary>(queues_, reads_clock_);
  int lists_ = 0;
  bool away_ = false;
};

TEST_F(PoisonSummaryTest, SaysWhatTheQueueHolds) {
  EXPECT_TRUE(read()->groups.empty());
  EXPECT_TRUE(read()->complete);
  poison("Missing", 3);
  poison("Other", 1);
  const auto sum = read();
  ASSERT_TRUE(sum && sum->groups.size() == 2);
  EXPECT_EQ(sum->counted, 4U);
  const auto& first = sum->groups[0];
  EXPECT_EQ(first.group.count, 3U);
  EXPECT_EQ(first.group.kind, "delete");
  EXPECT_NE(first.group.reason.find("Missing"), std::string::npos);
  EXPECT_EQ(first.group.samples.size(), 3U);
  EXPECT_EQ(first.trend.back() + first.trend[jobs::kTrendHours - 2], 3U);

  jobs::PoisonFilter of_group;
  of_group.fingerprint = sum->groups[1].group.fingerprint;
  EXPECT_EQ(read(of_group)->groups.size(), 1U);
  jobs::PoisonFilter of_table;
  of_table.source = "other";
  EXPECT_EQ(read(of_table)->groups.at(0).group.source, "Other");
  EXPECT_EQ(read(of_table)->groups.size(), 1U);
  jobs::PoisonFilter earlier;
  earlier.moved_before = *first.group.first_moved_at;
  EXPECT_TRUE(read(earlier)->groups.empty());
}

TEST_F(PoisonSummaryTest, FollowsWhatIsSentBackEditedAndDeleted) {
  poison("Missing", 2);
  const auto ids = read()->groups.at(0).group.samples;
  ASSERT_TRUE(run(poison_.remove(ids[0])));
  EXPECT_EQ(read()->counted, 1U);
  auto spec = jobs::parse_job_spec(R"({"kind":"copy","source":"Aaa","destination":"Bbb","filter":""})");
  ASSERT_TRUE(run(poison_.edit(ids[1], *spec, "Eve")));
  EXPECT_EQ(read()->groups.at(0).group.kind, "copy");
  ASSERT_TRUE(run(poison_.redrive(ids[1], {}, "Eve")));
  EXPECT_TRUE(read()->groups.empty());
}

TEST_F(PoisonSummaryTest, WalksOnlyWhenSomethingHasChanged) {
  poison("Missing", 1);
  ASSERT_TRUE(read());
  const auto walks = lists_;
  const auto before = read()->as_of;
  EXPECT_EQ(lists_, walks);
  EXPECT_LE(before, read()->as_of);
  poison("Missing", 1);
  EXPECT_EQ(read()->counted, 2U);
  EXPECT_GT(lists_, walks);
}

TEST_F(PoisonSummaryTest, SaysThatTheQueueServiceIsAway) {
  ASSERT_TRUE(read());
  away_ = true;
  EXPECT_EQ(read().error().code, ErrorCode::kUnavailable);
  away_ = false;
  EXPECT_TRUE(read());
}

TEST_F(PoisonSummaryTest, AFilteredListGoesOnWhereItsPageEnded) {
  poison("Missing", 3);
  poison("Other", 2);
  poison("Missing", 2);
  jobs::PoisonFilter which;
  which.fingerprint = read()->groups.at(0).group.fingerprint;
  std::set<std::string> seen;
  std::string continuation;
  do {
    const auto page = run(poison_.list(2, continuation, which));
    ASSERT_TRUE(page.has_value());
    EXPECT_LE(page->records.size(), 2U);
    for (const auto& record : page->records) EXPECT_TRUE(seen.insert(record.message_id).second);
    continuation = page->continuation;
  } while (!continuation.empty());
  EXPECT_EQ(seen.size(), 5U);
}

}  // namespace
}  // namespace tidemark::workers
