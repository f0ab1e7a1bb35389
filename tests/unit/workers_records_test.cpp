// The connections between a job's record, its message and its ledger: none is trusted without the others.
#include "jobs/limits/limits.h"
#include "workers/upkeep/collector.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using jobs::JobState;
using std::chrono::hours;

constexpr const char* kDeleteAll = R"({"kind":"delete","source":"Source","filter":""})";

class WorkersRecords : public WorkersFixture {
 protected:
  void pause(const std::string& kind, bool paused) {
    jobs::Limits limits(tables_, *clock_);
    ASSERT_TRUE(run(limits.set(jobs::kind_target(kind), {paused, std::nullopt, std::nullopt})).has_value());
  }
  /// Refuses every call of this method.
  static std::function<Task<Result<void>>(std::string)> without(std::string method,
                                                                ErrorCode code = ErrorCode::kUnavailable) {
    return [method, code](std::string called) -> Task<Result<void>> {
      if (called == method) co_return fail(code);
      co_return Result<void>{};
    };
  }
  bool kept_after(std::chrono::hours later, const std::string& id) {
    jobs::Collector collector(tables_, queues_, *clock_, hours(24));
    EXPECT_TRUE(run(collector.collect(clock_->now() + later)).has_value());
    return run(jobs_.find(id))->has_value();
  }
  void fill(int entities) {
    for (int i = 0; i < entities; ++i) put("p" + std::to_string(i % 3), std::to_string(1000 + i), i);
  }
  /// Refuses the table change of this number for good.
  void fail_change_after(int changes) {
    table_link_.before = [changes, made = std::make_shared<int>(0)](std::string method) -> Task<Result<void>> {
      if (method == "table.mutate" && ++*made == changes) co_return fail(ErrorCode::kInvalidInput);
      co_return Result<void>{};
    };
  }
};

TEST_F(WorkersRecords, ACancelledJobThatWasNeverDeliveredLeavesNoMessage) {
  const auto later = to_iso8601(clock_->now() + hours(24 * 60));
  const auto soon = submit(kDeleteAll);
  const auto delayed = submit(R"({"kind":"delete","source":"Source","filter":"","notBefore":")" + later + "\"}");
  ASSERT_EQ(messages_left(), 2U);
  ASSERT_TRUE(run(jobs_.cancel(delayed.id)).has_value());
  EXPECT_EQ(messages_left(), 1U);
  ASSERT_TRUE(run(jobs_.cancel(soon.id)).has_value());
  EXPECT_EQ(messages_left(), 0U);
  EXPECT_FALSE(kept_after(hours(25), soon.id));
}

TEST_F(WorkersRecords, ARecordOutlivesItsMessage) {
  put("p", "r", 1);
  const auto job = submit(kDeleteAll);
  queue_link_.before = without("queue.withdraw");
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  queue_link_.before = nullptr;
  ASSERT_EQ(messages_left(), 1U);
  EXPECT_TRUE(kept_after(hours(24 * 365), job.id)) << "no worker ran for a year";
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  EXPECT_EQ(all("Source").size(), 1U);
  EXPECT_FALSE(kept_after(hours(24 * 365), job.id));
}

TEST_F(WorkersRecords, ARecordOutlivesAMessageThatCouldNotBeDeleted) {
  const auto job = submit(kDeleteAll);
  queue_link_.before = without("queue.complete");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  queue_link_.before = nullptr;
  EXPECT_TRUE(kept_after(hours(24 * 365), job.id));
}

TEST_F(WorkersRecords, ARecordOutlivesAMessageThatWasSentBackUnnoticed) {
  const auto job = submit(R"({"kind":"delete","source":"Missing","filter":""})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = without("table.mutate");
  ASSERT_TRUE(run(poison_.redrive(job.id, std::nullopt, "me")).has_value());
  table_link_.before = nullptr;
  ASSERT_EQ(record(job.id).state, JobState::kPoisoned) << "nobody could note it";
  EXPECT_TRUE(kept_after(hours(24 * 365), job.id));
}

TEST_F(WorkersRecords, AJobOfAPausedKindThatWasCancelledEndsAtItsNextLook) {
  pause("delete", true);
  const auto job = submit(kDeleteAll);
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  EXPECT_EQ(messages_left(), 1U) << "a worker has it";
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kDropped);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersRecords, AMessageThatWaitedForDaysWithoutARecordRuns) {
  put("p", "r", 1);
  pause("delete", true);
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", kDeleteAll, Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  const auto waiting = run(jobs_.list(10, "", "delete", "queued"));
  ASSERT_TRUE(waiting && waiting->jobs.size() == 1) << "it can be seen while it waits";
  EXPECT_TRUE(kept_after(hours(24 * 365), waiting->jobs[0].id));
  pause("delete", false);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(record(waiting->jobs[0].id).state, JobState::kSucceeded);
}

TEST_F(WorkersRecords, AnIdempotencyKeyLastsAsLongAsItsMessage) {
  const std::string text = R"({"kind":"delete","source":"Source","filter":"","idempotencyKey":"k"})";
  pause("delete", true);
  table_link_.before = [calls = std::make_shared<int>(0)](std::string method) -> Task<Result<void>> {
    if (method == "table.mutate" && ++*calls > 1) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_FALSE(run(jobs_.submit(*jobs::parse_job_spec(text))).has_value()) << "it ended between message and record";
  table_link_.before = nullptr;
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  const auto waiting = run(jobs_.list(10, "", "", ""));
  ASSERT_TRUE(waiting && waiting->jobs.size() == 1);
  EXPECT_TRUE(kept_after(hours(24 * 365), waiting->jobs[0].id));
  EXPECT_EQ(submit(text).id, waiting->jobs[0].id);
}

TEST_F(WorkersRecords, AClockThatWasBackWhenAJobEndedDoesNotMakeItsRecordOld) {
  const auto job = finish(kDeleteAll);
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrMerge;
  mutation.row_key = job.id;
  mutation.properties = {{"FinishedAt", clock_->now() - hours(24 * 30)}};
  ASSERT_TRUE(run(tables_.mutate("TidemarkJobs", "jobs", {mutation}, std::nullopt)).has_value());
  EXPECT_TRUE(kept_after(hours(1), job.id));
  EXPECT_FALSE(kept_after(hours(25), job.id));
}

TEST_F(WorkersRecords, APoisonedJobTellsAllThatItDid) {
  fill(600);
  const auto job = submit(kDeleteAll);
  fail_change_after(7);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  const auto gone = 600 - all("Source").size();
  ASSERT_GT(gone, 100U);
  ASSERT_LT(gone, 600U);
  EXPECT_EQ(record(job.id).done, gone);
}

TEST_F(WorkersRecords, AnEditedJobIsAnOperationOfItsOwn) {
  fill(600);
  const auto job = submit(kDeleteAll);
  fail_change_after(7);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  const auto before = record(job.id).done;
  const auto left = all("Source").size();
  const auto some =
      jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":"Number ge 590","maxAffected":)" +
                           std::to_string(before - 1) + "}");
  ASSERT_TRUE(some.has_value());
  ASSERT_TRUE(run(poison_.redrive(job.id, *some, "me")).has_value());
  EXPECT_EQ(record(job.id).done, 0U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  const auto after = record(job.id);
  EXPECT_EQ(after.done, left - all("Source").size());
  EXPECT_GT(after.done, 0U);
  const auto edit = std::ranges::find(after.history, jobs::kEdited, &jobs::Attempt::outcome);
  ASSERT_NE(edit, after.history.end());
  EXPECT_EQ(edit->done, before) << "what the first text did stays told";
}

TEST_F(WorkersRecords, AnEditedJobOfOneEntityDoesItsWork) {
  put("p", "one", 1);
  put("p", "two", 2);
  const auto job = submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"one"})");
  // Its end cannot be reported for so long that it is given up.
  table_link_.before = without("table.close", ErrorCode::kInvalidInput);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  ASSERT_EQ(all("Source").size(), 1U);
  const auto other = jobs::parse_job_spec(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"two"})");
  ASSERT_TRUE(run(poison_.edit(job.id, *other, "me")).has_value());
  ASSERT_TRUE(run(poison_.redrive(job.id, std::nullopt, "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(record(job.id).done, 1U);
}

TEST_F(WorkersRecords, WhatIsSentBackUnchangedGoesOnWithItsOperation) {
  fill(600);
  const auto job = submit(kDeleteAll);
  fail_change_after(7);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  ASSERT_TRUE(run(poison_.redrive(job.id, *jobs::parse_job_spec(kDeleteAll), "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 600U);
}

TEST_F(WorkersRecords, AWorkerOfTheEarlierTextIsFencedOff) {
  const table_store::Fence old{"job", 3, "done"};
  ASSERT_EQ(run(tables_.count(old, 37))->counter("done"), 37U);
  ASSERT_TRUE(run(tables_.close_operation("job", 3, 0))->closed);
  const auto opened = run(tables_.open_operation("job", 4, 3));
  ASSERT_TRUE(opened.has_value());
  EXPECT_FALSE(opened->closed);
  EXPECT_EQ(opened->counter("done"), 0U);
  EXPECT_TRUE(run(tables_.count(old, 1)).failed_with(ErrorCode::kFenced));
  const table_store::Fence mine{"job", 4, "done", 3};
  EXPECT_EQ(run(tables_.count(mine, 2))->counter("done"), 2U);
  EXPECT_EQ(run(tables_.count(mine, 2))->counter("done"), 4U) << "it begins anew once";
}

TEST_F(WorkersRecords, CancelledAfterAnEditAJobTellsOnlyWhatItDidSince) {
  fill(600);
  const auto job = submit(kDeleteAll);
  fail_change_after(7);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  const auto other = jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":"Number ge 590"})");
  ASSERT_TRUE(run(poison_.redrive(job.id, *other, "me")).has_value());
  const auto cancelled = run(jobs_.cancel(job.id));
  ASSERT_TRUE(cancelled.has_value());
  EXPECT_EQ(cancelled->done, 0U);
}

TEST_F(WorkersRecords, ACancelDoesNotWaitForABlobStoreThatIsAway) {
  fill(3);
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":{"container":"old"},"filter":""})");
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  blob_link_.before = [](std::string) -> Task<Result<void>> { co_return fail(ErrorCode::kDeadlineExceeded); };
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kRetried);
  const auto cancelled = run(jobs_.cancel(job.id));
  ASSERT_TRUE(cancelled.has_value()) << cancelled.error().message;
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_EQ(messages_left(), 1U) << "whoever takes it finishes the cancel";
  message = receive();
  ASSERT_TRUE(message.has_value());
  const queue_service::Lease lease{"tidemark-jobs", message->id, message->epoch};
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kAbandoned);
  blob_link_.before = nullptr;
  EXPECT_FALSE(run(blobs_.read_operation(job.id))->closed);
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  EXPECT_TRUE(run(blobs_.read_operation(job.id))->closed);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersRecords, AJobWhoseTableOfRecordsIsGoneEndsWhereAPersonSeesIt) {
  const auto job = submit(R"({"kind":"delete","source":"Missing","filter":""})");
  queue_link_.before = [this](std::string method) -> Task<Result<void>> {
    if (method == "queue.renew") CO_TRY(co_await tables_.delete_table("TidemarkJobs"));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  queue_link_.before = nullptr;
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kPoisoned);
  EXPECT_EQ(ended.kind, "delete");
  EXPECT_FALSE(ended.error.empty());
  EXPECT_EQ(messages("tidemark-jobs-poison"), 1U);
}

TEST_F(WorkersRecords, ALongJobOfAGroupRuns) {
  auto batch =
      jobs::parse_job_batch(R"({"group":"long","jobs":[{"kind":"merge","source":"Source","filter":"","set":{"Text":")" +
                            std::string(29'900, 'x') + "\"}}]}");
  ASSERT_TRUE(batch) << batch.error().message;
  const auto submitted = run(jobs_.submit_group(std::move(*batch)));
  ASSERT_TRUE(submitted) << submitted.error().message;
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(submitted->front()->job.id).state, JobState::kSucceeded);
}

TEST_F(WorkersRecords, AMessageThatIsNoValidJobEndsTheRecordThatItNames) {
  const auto job = submit(kDeleteAll);
  auto message = receive();
  ASSERT_TRUE(message);
  message->text = R"({"jobId":")" + job.id + R"(","kind":"fly"})";
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kPoisoned);
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kPoisoned);
  EXPECT_EQ(ended.kind, "delete");
}

TEST_F(WorkersRecords, AJobWhoseRecordIsRefusedForGoodBecomesPoison) {
  queue_service::PutRequest message;
  message.text = R"({"kind":"delete","source":"Source","filter":"","onEnd":{"url":"http://127.0.0.1/told"}})";
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", std::move(message))).has_value());
  table_link_.before = without("table.mutate", ErrorCode::kUnavailable);
  EXPECT_NE(work_next().end, RunEnd::kPoisoned) << "the store may be back soon";
  table_link_.before = without("table.mutate", ErrorCode::kOutOfRangeInput);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  EXPECT_EQ(messages("tidemark-jobs-poison"), 1U);
  EXPECT_EQ(messages_left(), 1U) << "the callback";
}

TEST_F(WorkersRecords, AJobThatSucceedsWithoutItsRecordHasOneAgain) {
  fill(10);
  const auto job = submit(kDeleteAll);
  table_link_.before = [this, dropped = std::make_shared<bool>(false)](std::string method) -> Task<Result<void>> {
    if (method == "table.close" && !std::exchange(*dropped, true))
      CO_TRY(co_await tables_.delete_table("TidemarkJobs"));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kSucceeded);
  EXPECT_EQ(ended.done, 10U);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersRecords, AMessageMakesItsRecordAgainAndTheTable) {
  put("p", "r", 1);
  const auto job = submit(kDeleteAll);
  ASSERT_TRUE(run(tables_.delete_table("TidemarkJobs")).has_value());
  EXPECT_TRUE(run(jobs_.list(10, "", "", ""))->jobs.empty());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 1U);
}

}  // namespace
}  // namespace tidemark::workers
