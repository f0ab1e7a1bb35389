// The record of a running job: figures that only rise, and the expected total.
#include "tests/unit/workers_fixture.h"

namespace tidemark::workers {
namespace {

jobs::RecordChange figures(std::uint64_t done, std::uint64_t skipped, std::string skips) {
  jobs::RecordChange change;
  change.done = done;
  change.skipped = skipped;
  change.skips = std::move(skips);
  return change;
}

class WorkersProgress : public WorkersFixture {
 protected:
  /// Submits a job and claims it as a worker does; returns its id.
  std::string claimed() {
    const auto job = submit(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"",)"
                            R"("partitionKeyTemplate":"{Number}","rowKeyTemplate":"{RowKey}"})");
    jobs::Delivery delivery;
    delivery.job_id = job.id;
    delivery.kind = job.kind;
    delivery.spec = job.spec;
    delivery.message_id = job.message_id;
    delivery.epoch = 1;
    delivery.attempt = 1;
    auto claim = run(jobs_.claim(delivery));
    EXPECT_TRUE(claim.has_value());
    return job.id;
  }
  void change(const std::string& id, jobs::RecordChange change) {
    auto changed = run(jobs_.change(id, 1, std::move(change)));
    ASSERT_TRUE(changed.has_value()) << changed.error().message;
  }
};

TEST_F(WorkersProgress, FiguresOnlyRiseUntilTheEndAndThenAreExact) {
  const auto id = claimed();
  change(id, figures(500, 3, "[3]"));
  // A delivery that took over from an older checkpoint.
  change(id, figures(100, 1, "[1]"));
  EXPECT_EQ(record(id).done, 500U);
  EXPECT_EQ(record(id).skipped, 3U);
  EXPECT_EQ(record(id).skips, "[3]");
  change(id, figures(600, 3, "[3 too]"));
  EXPECT_EQ(record(id).done, 600U);
  EXPECT_EQ(record(id).skips, "[3 too]");
  auto end = figures(590, 2, "[2]");
  end.state = jobs::JobState::kSucceeded;
  change(id, std::move(end));
  EXPECT_EQ(record(id).done, 590U);
  EXPECT_EQ(record(id).skipped, 2U);
  EXPECT_EQ(record(id).skips, "[2]");
}

TEST_F(WorkersProgress, WhatIsCountedForMaxAffectedIsTheTotal) {
  for (int i = 0; i < 7; ++i) put("p", std::to_string(i), i);
  const auto copied = submit(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"Number lt 5",)"
                             R"("maxAffected":5,"partitionKeyTemplate":"c","rowKeyTemplate":"{RowKey}"})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(copied.id).total, 5U);
  const auto archived =
      submit(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"","maxAffected":9})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(archived.id).total, 7U);
  EXPECT_EQ(record(archived.id).done, 7U);
  const auto dropped = submit(R"({"kind":"delete","source":"Copies","wholeTable":true,"maxAffected":5})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(dropped.id).total, 1U);
  EXPECT_EQ(record(dropped.id).done, 1U);
}

TEST_F(WorkersProgress, TheTotalIsOfTheFirstCountWhateverHappensThen) {
  for (int i = 0; i < 6; ++i) put("p" + std::to_string(i), "r", i);
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAffected":6})");
  int mutations = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    // After the claim, the total and some of the groups.
    if (method == "table.mutate" && ++mutations == 5) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_GT(record(job.id).done, 0U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).total, 6U);
  EXPECT_EQ(record(job.id).done, 6U);
}

TEST_F(WorkersProgress, CountingGoesOnWhereTheLastWorkerDied) {
  for (int i = 0; i < 2500; ++i) put("p" + std::to_string(i / 10), std::to_string(i), i);
  // Runs a job and returns the number of counting queries before its second change of a table: the claim comes before
  // the count, the total after it.
  const auto queries_of_count = [&] {
    int queries = 0;
    int counted = 0;
    int mutations = 0;
    table_link_.before = [&](std::string method) -> Task<Result<void>> {
      if (method == "table.count") ++queries;
      if (method == "table.mutate" && ++mutations == 2) counted = queries;
      co_return Result<void>{};
    };
    EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
    table_link_.before = nullptr;
    return counted;
  };
  submit(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"","maxAffected":2500,)"
         R"("partitionKeyTemplate":"c","rowKeyTemplate":"{RowKey}"})");
  const auto whole = queries_of_count();
  ASSERT_EQ(whole, 3);
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAffected":2500})");
  int queries = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "table.count" && ++queries == 2) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(queries_of_count(), whole - 1);
  EXPECT_EQ(record(job.id).total, 2500U);
  EXPECT_EQ(record(job.id).done, 2500U);
}

class WorkersAttempts : public WorkersProgress {
 protected:
  void fill_pages() {
    for (int i = 0; i < 3500; ++i) put("p" + std::to_string(i / 100), std::to_string(i), i);  // four pages
  }
  /// From now on each delivery fails at its second page.
  void fail_at_second_page() {
    auto queries = std::make_shared<int>(0);
    table_link_.before = [queries](std::string method) -> Task<Result<void>> {
      // The first query reads the limits; counting queries run beside the pages.
      if (method == "table.query" && ++*queries % 3 == 0) co_return fail(ErrorCode::kOperationTimedOut);
      co_return Result<void>{};
    };
  }
  /// A worker takes the job and dies at once.
  void lose_one() {
    auto message = receive();
    ASSERT_TRUE(message.has_value());
    queue_service::Lease lease{"tidemark-jobs", message->id, message->epoch};
    ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), message->annotation, true)).has_value());
  }
};

TEST_F(WorkersAttempts, AJobThatGetsFurtherEachTimeIsNotGivenUp) {
  fill_pages();
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":2})");
  fail_at_second_page();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(work_next().end, RunEnd::kRetried) << i;
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 3500U);
}

TEST_F(WorkersAttempts, DeathsOfWorkersCountSinceTheLastPage) {
  fill_pages();
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":3})");
  fail_at_second_page();
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  for (int i = 0; i < 2; ++i) lose_one();
  EXPECT_EQ(work_next().end, RunEnd::kRetried);  // the third in a row, and it gets further
  for (int i = 0; i < 3; ++i) lose_one();
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("attempt limit"), std::string::npos) << record(job.id).error;
}

TEST_F(WorkersAttempts, OneAttemptIsOneEvenIfItGotFurther) {
  fill_pages();
  submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":1})");
  fail_at_second_page();
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
}

class WorkersTakeover : public WorkersAttempts {
 protected:
  /// A worker takes the job and dies at its `calls`-th change of a table: nothing is heard from it after that.
  void die_at(int calls) {
    auto message = receive();
    ASSERT_TRUE(message.has_value());
    queue_service::Lease lease{"tidemark-jobs", message->id, message->epoch};
    auto dead = std::make_shared<bool>(false);
    auto seen = std::make_shared<int>(0);
    table_link_.before = [dead, seen, calls](std::string method) -> Task<Result<void>> {
      if (method == "table.mutate" && ++*seen >= calls) *dead = true;
      if (*dead) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    queue_link_.before = [dead](std::string) -> Task<Result<void>> {
      if (*dead) co_return fail(ErrorCode::kLeaseLost);
      co_return Result<void>{};
    };
    EXPECT_EQ(work(std::move(*message)).end, RunEnd::kAbandoned);
    table_link_.before = queue_link_.before = nullptr;
    // The lease ends, and the note stays.
    ASSERT_TRUE(run(queues_.renew(lease, std::chrono::milliseconds(1), std::nullopt)).has_value());
  }
  void fill_one_page() {
    for (int i = 0; i < 200; ++i) put("p" + std::to_string(i / 10), std::to_string(i), i);
  }
};

TEST_F(WorkersTakeover, WhatTheLedgerCountsIsNoAttemptInVain) {
  fill_one_page();
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":2})");
  // Each dies in the first page, which none of them records: after the claim and one group.
  for (int i = 0; i < 7; ++i) {
    const auto before = all("Source").size();
    die_at(3);
    EXPECT_LT(all("Source").size(), before) << i;
  }
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 200U);
}

TEST_F(WorkersTakeover, WorkThatIsInTheLedgerCountsOnce) {
  fill_one_page();
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":"","maxAttempts":2})");
  for (int i = 0; i < 2; ++i) die_at(3);
  const auto left = all("Source").size();
  EXPECT_LT(left, 200U);
  // The third finds that the two before made progress; it and the fourth die at their claims.
  for (int i = 0; i < 2; ++i) die_at(2);
  EXPECT_EQ(all("Source").size(), left);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kPoisoned);
}

TEST_F(WorkersTakeover, APageThatWasBegunIsFinishedInGroups) {
  for (int i = 0; i < 300; ++i) put("p" + std::to_string(i / 100), std::to_string(i), i);
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})");
  die_at(5);  // after the claim and three copies
  EXPECT_EQ(all("Source").size(), 300U);
  EXPECT_EQ(all("Archive").size(), 300U);
  int changes = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "table.mutate") ++changes;
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  // The copies again and the removals, and some of the record's changes.
  EXPECT_LT(changes, 15);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(record(job.id).done, 300U);
}

}  // namespace
}  // namespace tidemark::workers
