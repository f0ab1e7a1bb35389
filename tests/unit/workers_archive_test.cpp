// Jobs end to end: both stores' services on the memory engine, reached through their clients over a loopback.
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using WorkersArchive = WorkersFixture;

constexpr const char* kArchiveOne =
    R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"r"})";
constexpr const char* kArchiveAll = R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})";

TEST_F(WorkersArchive, MovesOneEntity) {
  put("p", "r", 1);
  put("p", "other", 2);
  const auto version = all("Source").back().version;
  const auto job = submit(kArchiveOne);
  EXPECT_EQ(job.state, jobs::JobState::kQueued);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  ASSERT_EQ(all("Source").size(), 1U);
  const auto archived = all("Archive");
  ASSERT_EQ(archived.size(), 1U);
  EXPECT_EQ(archived[0].source_version, version);
  const auto after = record(job.id);
  EXPECT_EQ(after.state, jobs::JobState::kSucceeded);
  EXPECT_EQ(after.done, 1U);
  EXPECT_EQ(after.skipped, 0U);
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
}

TEST_F(WorkersArchive, AMissingEntityIsAnOutcome) {
  const auto job = submit(kArchiveOne);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 0U);
  EXPECT_EQ(record(job.id).skipped, 1U);
}

TEST_F(WorkersArchive, MovesWhatAFilterSelectsAcrossPartitionsAndNothingElse) {
  for (int i = 0; i < 600; ++i) put("p" + std::to_string(i % 4), std::to_string(i), i);
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"Number lt 500"})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(all("Source").size(), 100U);
  EXPECT_EQ(all("Archive").size(), 500U);
  EXPECT_EQ(record(job.id).done, 500U);
}

TEST_F(WorkersArchive, AnEntityUpdatedBetweenCopyAndEraseIsArchivedInItsNewestVersion) {
  put("p", "r", 1);
  submit(kArchiveOne);
  bool updated = false;
  table_link_.before = [&](std::string) -> Task<Result<void>> {
    auto copy = table_service_.get(kAccount, "Archive", "p", "r");
    if (updated || !copy || !*copy) co_return Result<void>{};
    updated = true;
    Mutation mutation;
    mutation.kind = MutationKind::kReplace;
    mutation.row_key = "r";
    mutation.properties = {{"Number", std::int32_t{2}}};
    std::vector<Mutation> mutations{mutation};
    auto done = co_await table_service_.mutate(kAccount, "Source", "p", std::move(mutations), std::nullopt);
    EXPECT_TRUE(done.has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(updated);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(std::get<std::int32_t>(*all("Archive").at(0).find("Number")), 2);
}

TEST_F(WorkersArchive, ARedeliveryAfterAFailureAtAnyCallFinishesWithExactFigures) {
  for (int fail_at = 1; fail_at < 60; ++fail_at) {
    for (int i = 0; i < 5; ++i) put("p" + std::to_string(i % 2), std::to_string(fail_at * 10 + i), i);
    const auto job = submit(kArchiveAll);
    int calls = 0;
    table_link_.before = [&](std::string) -> Task<Result<void>> {
      if (++calls >= fail_at && calls < fail_at + 3) co_return fail(ErrorCode::kUnavailable);
      co_return Result<void>{};
    };
    auto end = RunEnd::kRetried;
    for (int i = 0; i < 20 && end == RunEnd::kRetried; ++i) end = work_next().end;
    table_link_.before = nullptr;
    ASSERT_EQ(end, RunEnd::kSucceeded) << fail_at;
    ASSERT_TRUE(all("Source").empty());
    ASSERT_EQ(record(job.id).done, 5U) << fail_at;
    if (calls < fail_at) return;  // the job ended before the fault: every call was tried
  }
  FAIL() << "the job makes more calls than expected";
}

/// The entity was archived and removed; a user made another one, which the job was about to archive as well when it
/// died.
TEST_F(WorkersArchive, WhatWasArchivedStaysIfItsSuccessorIsRemoved) {
  put("p", "busy", 1);
  put("p", "r", 1);
  submit(kArchiveAll);
  const auto number_of = [](const Result<std::optional<Entity>>& entity) {
    return entity && *entity ? std::get<std::int32_t>(*(*entity)->find("Number")) : 0;
  };
  const auto change = [&](MutationKind kind, std::string row, std::int32_t number) -> Task<void> {
    Mutation mutation;
    mutation.kind = kind;
    mutation.row_key = std::move(row);
    if (number > 0) mutation.properties = {{"Number", number}};
    EXPECT_TRUE((co_await table_service_.mutate(kAccount, "Source", "p", {mutation}, std::nullopt)).has_value());
  };
  bool made_again = false;
  bool about_to_put = false;
  bool died = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    const auto busy = number_of(table_service_.get(kAccount, "Source", "p", "busy"));
    const bool copied = number_of(table_service_.get(kAccount, "Archive", "p", "busy")) == busy;
    // Never archived in its newest version, so the page is read again.
    if (copied && busy > 0 && !died) co_await change(MutationKind::kReplace, "busy", busy + 1);
    const bool moved = number_of(table_service_.get(kAccount, "Archive", "p", "r")) == 1 &&
                       number_of(table_service_.get(kAccount, "Source", "p", "r")) == 0;
    if (moved && !made_again) {
      made_again = true;
      co_await change(MutationKind::kInsert, "r", 2);
    } else if (made_again && method == "table.query") {
      about_to_put = true;
    } else if (about_to_put && !died && method == "table.mutate") {
      died = true;
      co_await change(MutationKind::kErase, "r", 0);
    }
    if (died) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_TRUE(died);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(number_of(table_service_.get(kAccount, "Archive", "p", "r")), 1);
}

TEST_F(WorkersArchive, AStaleDeliveryChangesNothing) {
  put("p", "r", 1);
  const auto job = submit(kArchiveOne);
  auto stale = receive();
  ASSERT_TRUE(stale.has_value());
  queue_service::Lease lease{"tidemark-jobs", stale->id, stale->epoch};
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  put("p", "r", 2);  // re-created by a user
  auto end = work(std::move(*stale)).end;
  EXPECT_NE(end, RunEnd::kSucceeded);
  EXPECT_EQ(all("Source").size(), 1U);
  EXPECT_EQ(std::get<std::int32_t>(*all("Archive").at(0).find("Number")), 1);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kSucceeded);
}

TEST_F(WorkersArchive, AJobThatKeepsFailingBecomesPoisonAndCanBeSentBack) {
  put("p", "r", 1);
  const auto job = submit(
      R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"r","maxAttempts":3})");
  table_link_.before = [](std::string method) -> Task<Result<void>> {
    if (method.find("close") != std::string::npos) co_return fail(ErrorCode::kOperationTimedOut);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kQueued);
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  EXPECT_EQ(record(job.id).state, jobs::JobState::kPoisoned);
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
  auto page = run(poison_.list(10, ""));
  ASSERT_TRUE(page && page->records.size() == 1);
  const auto& poison = page->records[0];
  EXPECT_EQ(poison.message_id, job.message_id);
  EXPECT_EQ(poison.job_id, job.id);
  EXPECT_EQ(poison.attempts.size(), 3U);
  EXPECT_EQ(poison.attempts[0].code, "OperationTimedOut");

  ASSERT_TRUE(run(poison_.redrive(poison.message_id, std::nullopt, "me")).has_value());
  EXPECT_EQ(record(job.id).state, jobs::JobState::kQueued);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 0U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
}

TEST_F(WorkersArchive, TheHistoryHasTheAttemptsOfAllRoundsAndWhoSentTheJobBack) {
  const auto spec = jobs::parse_job_spec(
      R"({"kind":"archive","source":"Nowhere","destination":"Archive","filter":"","maxAttempts":3})");
  const auto job = submit(jobs::canonical_text(*spec));
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  ASSERT_TRUE(run(poison_.edit(job.message_id, *spec, "Eve")).has_value());
  ASSERT_TRUE(run(poison_.redrive(job.message_id, std::nullopt, "Ann")).has_value());
  EXPECT_EQ(record(job.id).history.back().by, "Ann");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  const auto redrive = submit(R"({"kind":"redrive"})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  const std::vector<std::string> expected{
      "1 failed", "1 edited Eve", "1 sentBack Ann", "2 failed", "2 sentBack " + redrive.id, "3 failed"};
  const auto told = [](const std::vector<jobs::Attempt>& history) {
    std::vector<std::string> out;
    for (const auto& entry : history) {
      out.push_back(std::to_string(entry.round) + " " + entry.outcome + (entry.by.empty() ? "" : " " + entry.by));
    }
    return out;
  };
  EXPECT_EQ(told(record(job.id).history), expected);
  EXPECT_EQ(told(run(poison_.find(job.id))->attempts), expected);
}

TEST_F(WorkersArchive, APermanentErrorIsPoisonAtOnce) {
  const auto job = submit(R"({"kind":"archive","source":"Nowhere","destination":"Archive","filter":""})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kPoisoned);
  ASSERT_TRUE(run(poison_.remove(job.message_id)).has_value());
  EXPECT_TRUE(run(poison_.remove(job.message_id)).failed_with(ErrorCode::kPoisonNotFound));
  EXPECT_EQ(record(job.id).state, jobs::JobState::kPoisoned);
}

TEST_F(WorkersArchive, AnUnreadableMessageBecomesPoisonWithARecord) {
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", "hello", Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  auto page = run(jobs_.list(10, ""));
  ASSERT_TRUE(page && page->jobs.size() == 1);
  EXPECT_EQ(page->jobs[0].state, jobs::JobState::kPoisoned);
  EXPECT_EQ(page->jobs[0].kind, "unknown");
}

TEST_F(WorkersArchive, AMessageWrittenByAnySdkIsAJob) {
  put("p", "r", 1);
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", kArchiveOne, Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(run(jobs_.list(10, ""))->jobs.size(), 1U);
}

TEST_F(WorkersArchive, OneIdempotencyKeyIsOneJob) {
  const std::string text =
      R"({"kind":"archive","source":"Source","destination":"Archive","filter":"","idempotencyKey":"k"})";
  const auto first = submit(text);
  EXPECT_EQ(submit(text).id, first.id);
  EXPECT_EQ(messages("tidemark-jobs"), 1U);
  auto other = jobs::parse_job_spec(
      R"({"kind":"archive","source":"Source","destination":"Other","filter":"","idempotencyKey":"k"})");
  EXPECT_TRUE(run(jobs_.submit(*other)).failed_with(ErrorCode::kIdempotencyKeyReused));
}

TEST_F(WorkersArchive, ASecondMessageOfAJobIsDropped) {
  const auto job = submit(kArchiveOne);
  auto spec = jobs::parse_job_spec(kArchiveOne);
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", jobs::job_message_text(job.id, *spec), Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
}

TEST_F(WorkersArchive, ACancelledJobIsNotRun) {
  put("p", "r", 1);
  const auto job = submit(kArchiveOne);
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kDropped);
  EXPECT_EQ(all("Source").size(), 1U);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
}

TEST_F(WorkersArchive, ACancelledJobTellsExactlyWhatItDidAndCanBeUndone) {
  for (int i = 0; i < 400; ++i) put("p" + std::to_string(i % 8), std::to_string(1000 + i), i);
  const auto job = submit(kArchiveAll);
  int removals = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.mutate" || ++removals != 14) co_return Result<void>{};
    auto cancelled = co_await jobs_.cancel(job.id);
    EXPECT_TRUE(cancelled.has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  table_link_.before = nullptr;
  const auto left = all("Source").size();
  ASSERT_GT(left, 0U);
  ASSERT_LT(left, 400U);
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, jobs::JobState::kCancelled);
  EXPECT_EQ(ended.done, 400U - left);
  ASSERT_EQ(ended.history.size(), 1U);
  EXPECT_EQ(ended.history[0].outcome, "cancelled");
  EXPECT_EQ(ended.history[0].worker, "w");
  EXPECT_EQ(ended.history[0].number, 1U);
  // The end is reported once, however often the job is cancelled.
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  EXPECT_EQ(record(job.id).history.size(), 1U);

  EXPECT_GE(finish(R"({"kind":"undo","job":")" + job.id + R"("})").done, 400U - left);
  EXPECT_EQ(all("Source").size(), 400U);
  EXPECT_TRUE(all("Archive").empty());
}

TEST_F(WorkersArchive, ACancelledCopyTellsHowManyCopiesItWrote) {
  for (int i = 0; i < 400; ++i) put("p" + std::to_string(i % 8), std::to_string(1000 + i), i);
  const auto job = submit(R"({"kind":"copy","source":"Source","destination":"Copies","filter":""})");
  int changes = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "table.mutate" && ++changes == 5) EXPECT_TRUE((co_await jobs_.cancel(job.id)).has_value());
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  table_link_.before = nullptr;
  const auto copies = all("Copies").size();
  ASSERT_GT(copies, 0U);
  ASSERT_LT(copies, 400U);
  EXPECT_EQ(record(job.id).done, copies);
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + job.id + R"("})").done, copies);
  EXPECT_TRUE(all("Copies").empty());
}

}  // namespace
}  // namespace tidemark::workers
