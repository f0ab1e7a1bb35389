// The kinds of job besides archive and index, end to end.
#include <set>

#include "common/base/encoding.h"
#include "jobs/plan/plan.h"
#include "jobs/spec/key_template.h"
#include "workers/upkeep/collector.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

class WorkersKinds : public WorkersFixture {
 protected:
  std::vector<std::string> keys(const std::string& table) {
    std::vector<std::string> out;
    for (const auto& entity : all(table)) out.push_back(entity.partition_key + "/" + entity.row_key);
    return out;
  }
  std::int32_t number(const std::string& table, const std::string& partition, const std::string& row) {
    auto entity = run(tables_.get(table, partition, row));
    EXPECT_TRUE(entity && *entity) << table << " " << partition << "/" << row;
    return entity && *entity ? std::get<std::int32_t>(*(*entity)->find("Number")) : -1;
  }
  jobs::JobRecord poisoned(const std::string& text) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    return record(job.id);
  }
  /// Does `action` right before the n-th call of `method`.
  void before_call(const std::string& method, int n, std::function<void()> action) {
    table_link_.before = [method, n, action, seen = std::make_shared<int>(0)](std::string name) -> Task<Result<void>> {
      if (name == method && ++*seen == n) action();
      co_return Result<void>{};
    };
  }
  /// A user's write, made while a job is in the middle of a call.
  void put_now(const std::string& table, const std::string& partition, const std::string& row, std::int32_t value) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"Number", value}};
    asio::io_context io;
    auto task = table_service_.mutate(kAccount, table, partition, {mutation}, std::nullopt);
    auto future = asio::co_spawn(io, std::move(task), asio::use_future);
    io.run();
    EXPECT_TRUE(future.get().has_value());
  }
};

TEST_F(WorkersKinds, DeleteRemovesWhatItsFilterSelectsAndNothingElse) {
  for (int i = 0; i < 700; ++i) put("p" + std::to_string(i % 3), std::to_string(i), i);
  const auto job = finish(R"({"kind":"delete","source":"Source","filter":"Number lt 650"})");
  EXPECT_EQ(job.done, 650U);
  EXPECT_EQ(all("Source").size(), 50U);
}

TEST_F(WorkersKinds, DeleteLooksAgainAtWhatChangedMeanwhile) {
  put("p", "gone", 1);
  put("p", "stays", 1);
  before_call("table.mutate", 2, [&] {  // the first claims the record
    put_now("Source", "p", "gone", 2);
    put_now("Source", "p", "stays", 9);
  });
  const auto job = finish(R"({"kind":"delete","source":"Source","filter":"Number lt 5"})");
  EXPECT_EQ(keys("Source"), std::vector<std::string>{"p/stays"});
  EXPECT_EQ(job.done, 1U);
}

TEST_F(WorkersKinds, DeleteOfOneEntityDoesNotTakeOneThatWasCreatedSince) {
  put("p", "r", 1);
  const auto job = submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r"})");
  table_link_.before = [](std::string method) -> Task<Result<void>> {
    if (method == "table.close") co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_TRUE(all("Source").empty());
  put("p", "r", 2);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(number("Source", "p", "r"), 2);
  EXPECT_EQ(record(job.id).done, 1U);
}

TEST_F(WorkersKinds, AMissingEntityIsSkippedWithItsReason) {
  const auto job = finish(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r"})");
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_NE(job.skips.find("not found"), std::string::npos) << job.skips;
}

TEST_F(WorkersKinds, AWholeTableGoesOnceEvenIfItIsCreatedAgain) {
  put("p", "r", 1);
  submit(R"({"kind":"delete","source":"Source","wholeTable":true})");
  table_link_.before = [](std::string method) -> Task<Result<void>> {
    if (method == "table.close") co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_FALSE(*run(tables_.table_exists("Source")));
  ASSERT_TRUE(run(tables_.create_table("Source")).has_value());
  put("p", "r", 2);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(number("Source", "p", "r"), 2);
}

TEST_F(WorkersKinds, DeleteSurvivesAFaultAtAnyCall) {
  survives_a_fault_at_any_call(
      R"({"kind":"delete","source":"Source","filter":"Number lt 5"})",
      [&] {
        for (int i = 0; i < 8; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 5U);
        EXPECT_EQ(all("Source").size(), 3U);
      });
}

TEST_F(WorkersKinds, MaxAffectedStopsAJobBeforeItsFirstChange) {
  for (int i = 0; i < 30; ++i) put("p", std::to_string(i), i);
  const auto job = poisoned(R"({"kind":"delete","source":"Source","filter":"","maxAffected":29})");
  EXPECT_EQ(all("Source").size(), 30U);
  EXPECT_NE(job.error.find("maxAffected"), std::string::npos);
  EXPECT_EQ(finish(R"({"kind":"delete","source":"Source","filter":"","maxAffected":30})").done, 30U);
}

TEST_F(WorkersKinds, CopyMakesItsKeysFromATemplateAndProjects) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsert;
  mutation.row_key = "7";
  mutation.properties = {{"Department", std::string("R/D")}, {"LastName", std::string("Jones")}, {"Age", 40}};
  ASSERT_TRUE(run(tables_.mutate("Source", "emp", {mutation}, std::nullopt)).has_value());
  put("emp", "8", 1);  // has no department
  const auto job = finish(
      R"({"kind":"copy","source":"Source","destination":"ByDepartment","filter":"","partitionKeyTemplate":"{Department}",
          "rowKeyTemplate":"{RowKey}_{LastName}","properties":["LastName"]})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_NE(job.skips.find("\"8\""), std::string::npos) << job.skips;
  const auto copies = all("ByDepartment");
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].partition_key, "R%2FD");
  EXPECT_EQ(copies[0].row_key, "7_Jones");
  ASSERT_EQ(copies[0].properties.size(), 1U);
  EXPECT_EQ(all("Source").size(), 2U);
}

TEST_F(WorkersKinds, ACopyThatWouldBeTooLargeIsSkipped) {
  Mutation mutation;
  mutation.kind = MutationKind::kInsertOrReplace;
  mutation.row_key = "large";
  for (int i = 10; i < 25; ++i) mutation.properties.push_back({"P" + std::to_string(i), std::string(32 << 10, 'x')});
  mutation.properties.push_back({"P25", std::string(32'500, 'x')});
  ASSERT_TRUE(run(tables_.mutate("Source", "p", {mutation}, std::nullopt)).has_value());
  put("p", "small", 1);
  const auto job =
      finish(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"","rowKeyTemplate":"{RowKey})" +
             std::string(300, 'k') + "\"}");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(job.skipped, 1U) << job.skips;
}

TEST_F(WorkersKinds, IfTwoEntitiesHaveOneKeyTheNewerIsCopied) {
  put("a", "x", 1);
  put("b", "x", 2);  // newer, and read later
  put("b", "y", 3);
  put("a", "y", 4);  // newer, and read first
  const auto job = finish(
      R"({"kind":"copy","source":"Source","destination":"Copies","filter":"","partitionKeyTemplate":"all",
          "rowKeyTemplate":"{RowKey}"})");
  EXPECT_EQ(job.done, 2U);
  EXPECT_EQ(job.skipped, 2U) << job.skips;
  EXPECT_EQ(number("Copies", "all", "x"), 2);
  EXPECT_EQ(number("Copies", "all", "y"), 4);
}

TEST_F(WorkersKinds, CopyWithinOneTableNeitherCopiesCopiesNorReplacesAnOriginal) {
  put("p", "1", 5);
  put("p", "2", 6);
  put("byNumber", "6", 77);  // an original under a key that a copy would have
  const char* text =
      R"({"kind":"copy","source":"Source","destination":"Source","filter":"PartitionKey eq 'p'",
          "partitionKeyTemplate":"byNumber","rowKeyTemplate":"{Number}"})";
  EXPECT_EQ(finish(text).done, 1U);
  EXPECT_EQ(number("Source", "byNumber", "6"), 77);
  EXPECT_EQ(number("Source", "byNumber", "5"), 5);
  const auto again =
      finish(R"({"kind":"copy","source":"Source","destination":"Source","filter":"","rowKeyTemplate":"{RowKey}_x"})");
  EXPECT_EQ(again.done, 3U);  // it does not include the copy under byNumber/5
  EXPECT_EQ(again.total, 3U);
}

TEST_F(WorkersKinds, CopySurvivesAFaultAtAnyCallWithExactFigures) {
  survives_a_fault_at_any_call(
      R"({"kind":"copy","source":"Source","destination":"Copies","filter":"","rowKeyTemplate":"{Number}_{RowKey}"})",
      [&] {
        for (int i = 0; i < 9; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 9U);
        EXPECT_EQ(job.skipped, 0U);
        EXPECT_EQ(all("Copies").size(), 9U);
      });
}

TEST_F(WorkersKinds, OfTwoCopyJobsAtOnceTheOneThatReadLaterWins) {
  put("p", "a", 1);
  put("p", "b", 1);
  constexpr const char* kCopy = R"({"kind":"copy","source":"Source","destination":"Copies","filter":""})";
  const auto early = submit(kCopy);
  const auto late = submit(R"({"kind":"copy","source":"Source","destination":"Copies","filter":"","keepHours":5})");
  auto message = receive();
  auto other = receive();
  ASSERT_TRUE(message && other);
  // The first has read its page when an entity changes and the second copies everything.
  bool prepared = false;
  bool done = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    prepared = prepared || method == "table.create";
    if (done || !prepared || method != "table.mutate") co_return Result<void>{};
    done = true;
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = "a";
    mutation.properties = {{"Number", 2}};
    std::vector<Mutation> mutations{std::move(mutation)};
    CO_TRY(co_await table_service_.mutate(kAccount, "Source", "p", std::move(mutations), std::nullopt));
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    const auto report = co_await runner.run(std::move(*other), clock_->now(), std::make_shared<const bool>(false),
                                            std::string(jobs::kJobQueue));
    EXPECT_EQ(report.end, RunEnd::kSucceeded);
    co_return Result<void>{};
  };
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(done);
  const auto copies = all("Copies");
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(std::get<std::int32_t>(*copies[0].find("Number")), 2);
  EXPECT_EQ(record(early.id).done + record(late.id).done, 3U);
  EXPECT_EQ(record(early.id).skipped + record(late.id).skipped, 1U) << "a newer copy is there";
}

TEST_F(WorkersKinds, KeyTemplates) {
  for (const char* bad : {"", "{", "}", "{a", "a}", "{}", "{1a}", "{Timestamp}", "a/b"}) {
    EXPECT_FALSE(jobs::parse_key_template(bad).has_value()) << bad;
  }
  const auto templates = jobs::parse_key_templates("{PartitionKey}", "{{{A}}}-{RowKey}");
  ASSERT_TRUE(templates.has_value()) << templates.error().message;
  Entity entity;
  entity.partition_key = "p";
  entity.row_key = "r%";
  EXPECT_FALSE(apply_key_templates(*templates, entity).has_value());
  entity.properties = {{"A", std::string("50%")}};
  EXPECT_EQ(apply_key_templates(*templates, entity), (jobs::EntityKey{"p", "{50%25}-r%"}));
  entity.properties = {{"A", std::string(600, 'x')}};
  EXPECT_FALSE(apply_key_templates(*templates, entity).has_value());
}

constexpr const char* kThere = R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})";
constexpr const char* kBack = R"({"kind":"unarchive","source":"Archive","destination":"Source","filter":""})";

TEST_F(WorkersKinds, UnarchiveBringsBackWhatWasArchived) {
  for (int i = 0; i < 250; ++i) put("p" + std::to_string(i % 3), std::to_string(i), i);
  const auto before = keys("Source");
  EXPECT_EQ(finish(kThere).done, 250U);
  EXPECT_EQ(finish(kBack).done, 250U);
  EXPECT_EQ(keys("Source"), before);
  EXPECT_TRUE(all("Archive").empty());
  EXPECT_EQ(finish(kThere).done, 250U);  // and they can be archived again
  EXPECT_TRUE(all("Source").empty());
}

TEST_F(WorkersKinds, WhatCameBackIsAnOriginalForCopyJobs) {
  put("byNumber", "6", 77);
  put("p", "1", 5);
  finish(kThere);
  finish(kBack);
  put("p", "2", 6);  // its copy would meet the first, which is older
  const char* by_number =
      R"({"kind":"copy","source":"Source","destination":"Source","filter":"PartitionKey eq 'p'",
          "partitionKeyTemplate":"byNumber","rowKeyTemplate":"{Number}"})";
  const auto copied = finish(by_number);
  EXPECT_EQ(copied.done, 1U) << "what came back is copied";
  EXPECT_EQ(copied.skipped, 1U);
  EXPECT_EQ(number("Source", "byNumber", "6"), 77);
  EXPECT_EQ(number("Source", "byNumber", "5"), 5);
}

TEST_F(WorkersKinds, WhatCameBackInOneTransactionIsAnOriginalToo) {
  put("p", "r", 1);
  finish(R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"r"})");
  table_store::Move back;
  back.source = "Archive";
  back.destination = "Source";
  back.partition_key = "p";
  back.row_key = "r";
  back.back = true;
  back.fence = {"back", 1, std::string(kDone)};
  const auto moved = run(tables_.move_all({back}));
  ASSERT_TRUE(moved && moved->at(0));
  const auto entity = all("Source").at(0);
  EXPECT_TRUE(entity.source_version.has_value());
  EXPECT_FALSE(entity.is_copy());
}

TEST_F(WorkersKinds, WhatIsNoCopyIsInTheWayOfAnArchivedEntity) {
  ASSERT_TRUE(run(tables_.create_table("Archive")).has_value());
  put("p", "one", 1, "Archive");
  put("p", "two", 1, "Archive");
  put("p", "one", 2);
  put("p", "two", 2);
  const auto one =
      finish(R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"one"})");
  EXPECT_EQ(one.done, 0U);
  EXPECT_EQ(one.skipped, 1U);
  EXPECT_NE(one.skips.find("another entity is in the way"), std::string::npos) << one.skips;
  const auto both = finish(kThere);
  EXPECT_EQ(both.done, 0U);
  EXPECT_EQ(both.skipped, 2U);
  EXPECT_NE(both.skips.find("another entity is in the way"), std::string::npos) << both.skips;
  for (const char* row : {"one", "two"}) {
    EXPECT_EQ(number("Archive", "p", row), 1);
    EXPECT_EQ(number("Source", "p", row), 2);
  }
}

TEST_F(WorkersKinds, UnarchiveLeavesANewerEntityAndItsArchivedCopy) {
  put("p", "r", 1);
  finish(kThere);
  put("p", "r", 2);
  const auto job = finish(kBack);
  EXPECT_EQ(job.done, 0U);
  EXPECT_EQ(job.skipped, 1U);
  EXPECT_EQ(number("Source", "p", "r"), 2);
  EXPECT_EQ(number("Archive", "p", "r"), 1);
}

TEST_F(WorkersKinds, UnarchiveInTheMiddleOfAnArchiveJobLosesNothing) {
  put("p", "r", 1);
  submit(kThere);
  submit(kBack);
  // The archive job has copied and not yet removed; meanwhile the copy is restored.
  auto archive = receive();
  auto back = receive();
  bool done = false;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    auto copy = table_service_.get(kAccount, "Archive", "p", "r");
    if (done || method != "table.mutate" || !copy || !*copy) co_return Result<void>{};
    done = true;
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    auto report = co_await runner.run(std::move(*back), clock_->now(), std::make_shared<const bool>(false));
    EXPECT_EQ(report.end, RunEnd::kSucceeded);
    co_return Result<void>{};
  };
  EXPECT_EQ(work(std::move(*archive)).end, RunEnd::kSucceeded);
  table_link_.before = nullptr;
  EXPECT_TRUE(done);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(number("Archive", "p", "r"), 1);
}

TEST_F(WorkersKinds, UnarchiveSurvivesAFaultAtAnyCall) {
  survives_a_fault_at_any_call(
      kBack,
      [&] {
        for (int i = 0; i < 5; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
        finish(kThere);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 5U);
        EXPECT_EQ(all("Source").size(), 5U);
        EXPECT_TRUE(all("Archive").empty());
      });
}

TEST_F(WorkersKinds, UndoTakesBackOneJobOnly) {
  put("p", "first", 1);
  const auto first = finish(kThere);
  put("p", "second", 2);
  finish(kThere);
  const auto undo = finish(R"({"kind":"undo","job":")" + first.id + R"("})");
  EXPECT_EQ(undo.done, 1U);
  EXPECT_EQ(keys("Source"), std::vector<std::string>{"p/first"});
  EXPECT_EQ(keys("Archive"), std::vector<std::string>{"p/second"});
  // And the undo of the undo archives it again, as long as nobody changed it.
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + undo.id + R"("})").done, 1U);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(all("Archive").size(), 2U);
}

TEST_F(WorkersKinds, UndoLeavesWhatALaterJobArchived) {
  put("p", "r", 1);
  const auto first = finish(kThere);
  put("p", "r", 2);
  finish(kThere);
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + first.id + R"("})").done, 0U);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(number("Archive", "p", "r"), 2);
}

TEST_F(WorkersKinds, UndoOfACopyRemovesTheCopiesThatNobodyTouched) {
  put("p", "a", 1);
  put("p", "b", 2);
  const auto copy = finish(R"({"kind":"copy","source":"Source","destination":"Copies","filter":""})");
  put("p", "b", 7, "Copies");
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + copy.id + R"("})").done, 1U);
  EXPECT_EQ(keys("Copies"), std::vector<std::string>{"p/b"});
}

TEST_F(WorkersKinds, ADeleteCannotBeUndoneNorCanAJobThatRuns) {
  const auto gone = finish(R"({"kind":"delete","source":"Source","filter":""})");
  EXPECT_NE(poisoned(R"({"kind":"undo","job":")" + gone.id + R"("})").error.find("cannot be undone"),
            std::string::npos);
  const auto waiting = submit(kThere);
  auto message = receive();
  const auto undo = submit(R"({"kind":"undo","job":")" + waiting.id + R"("})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(undo.id).error.find("has not ended"), std::string::npos);
}

TEST_F(WorkersKinds, ARecordTellsEveryAttempt) {
  put("p", "r", 1);
  const auto job = submit(kThere);
  auto lost = receive();  // its worker dies
  jobs::Delivery delivery{job.id, "archive", job.spec, lost->id, lost->inserted, lost->epoch, 1, "dead", {}, 0, {}};
  ASSERT_TRUE(run(jobs_.claim(delivery)).has_value());
  queue_service::Lease lease{"tidemark-jobs", lost->id, lost->epoch};
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  table_link_.before = [](std::string method) -> Task<Result<void>> {
    if (method == "table.open") co_return fail(ErrorCode::kOperationTimedOut);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  const auto history = record(job.id).history;
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[0].outcome, "lost");
  EXPECT_EQ(history[0].worker, "dead");
  EXPECT_EQ(history[1].outcome, "failed");
  EXPECT_EQ(history[1].code, "OperationTimedOut");
  EXPECT_EQ(history[2].outcome, "succeeded");
  EXPECT_EQ(history[2].number, 3U);
}

TEST_F(WorkersKinds, AJobDoesNotStartBeforeItsTime) {
  const auto soon = clock_->now() + std::chrono::hours(1);
  // Written by an SDK without a delay: the worker itself checks the time.
  const std::string text =
      R"({"kind":"delete","source":"Source","filter":"","notBefore":")" + to_iso8601(soon) + R"("})";
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", base64_encode(text), Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  const auto page = run(queues_.list("tidemark-jobs", 10, ""));
  ASSERT_EQ(page->messages.size(), 1U);
  EXPECT_GT(page->messages[0].next_visible, soon - std::chrono::minutes(1));
  EXPECT_EQ(page->messages[0].dequeue_count, 0U);
  submit(text);
  EXPECT_EQ(run(queues_.receive("tidemark-jobs", std::chrono::seconds(1), Duration::zero()))->has_value(), false);
}

TEST_F(WorkersKinds, APausedKindWaitsAndGoesOn) {
  jobs::Limits controls(tables_, *clock_);
  ASSERT_TRUE(run(controls.set(jobs::kind_target("delete"), {.paused = true, .max_running = {}, .max_per_second = {}}))
                  .has_value());
  const auto job = submit(R"({"kind":"delete","source":"Source","filter":""})");
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kQueued);
  submit(kThere);  // another kind is not stopped
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  ASSERT_TRUE(run(controls.set(jobs::kind_target("delete"), {.paused = false, .max_running = {}, .max_per_second = {}}))
                  .has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).attempts, 1U);
}

TEST_F(WorkersKinds, PriorityChoosesTheQueue) {
  submit(R"({"kind":"delete","source":"Source","filter":"","priority":"high"})");
  submit(R"({"kind":"delete","source":"Source","filter":"","priority":"low"})");
  EXPECT_EQ(messages("tidemark-jobs-high"), 1U);
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
  EXPECT_EQ(messages("tidemark-jobs-low"), 1U);
}

TEST_F(WorkersKinds, AJobMayAskForALongerOrShorterKeepOfItsRecord) {
  const auto usual = finish(R"({"kind":"delete","source":"Source","filter":""})");
  const auto brief = finish(R"({"kind":"delete","source":"Source","filter":"","keepHours":2})");
  const auto lasting = finish(R"({"kind":"delete","source":"Source","filter":"","keepHours":1000})");
  const auto kept = [&](const jobs::JobRecord& job) { return run(jobs_.find(job.id))->has_value(); };
  jobs::Collector collector(tables_, queues_, *clock_, std::chrono::hours(24));
  const auto collect_after = [&](std::chrono::hours hours) {
    const auto collected = run(collector.collect(clock_->now() + hours));
    ASSERT_TRUE(collected.has_value()) << collected.error().message;
  };
  collect_after(std::chrono::hours(1));
  EXPECT_TRUE(kept(usual) && kept(brief) && kept(lasting));
  collect_after(std::chrono::hours(3));
  EXPECT_TRUE(kept(usual) && !kept(brief) && kept(lasting));
  collect_after(std::chrono::hours(25));
  EXPECT_TRUE(!kept(usual) && kept(lasting));
  collect_after(std::chrono::hours(1001));
  EXPECT_FALSE(kept(lasting));
}

TEST_F(WorkersKinds, TheCollectorRemovesWhatEndedLongAgoAndNothingElse) {
  const auto old = finish(R"({"kind":"delete","source":"Source","filter":"","idempotencyKey":"k"})");
  const auto poison = poisoned(R"({"kind":"delete","source":"Missing","filter":""})");
  const auto waiting = submit(R"({"kind":"delete","source":"Source","filter":"","idempotencyKey":"other"})");
  jobs::Collector young(tables_, queues_, *clock_, std::chrono::hours(1));
  auto collected = run(young.collect(clock_->now()));
  ASSERT_TRUE(collected.has_value()) << collected.error().message;
  EXPECT_EQ(collected->jobs + collected->keys, 0U);
  // A retention that reaches into the future: everything that has ended is old.
  jobs::Collector collector(tables_, queues_, *clock_, -std::chrono::hours(1));
  collected = run(collector.collect(clock_->now()));
  ASSERT_TRUE(collected.has_value()) << collected.error().message;
  EXPECT_EQ(collected->jobs, 1U);
  EXPECT_EQ(collected->keys, 1U);
  EXPECT_FALSE(run(jobs_.find(old.id))->has_value());
  EXPECT_EQ(run(tables_.read_operation(old.id))->epoch, 0U);
  EXPECT_TRUE(run(jobs_.find(poison.id))->has_value());  // its message is still there
  EXPECT_TRUE(run(jobs_.find(waiting.id))->has_value());
  ASSERT_TRUE(run(poison_.remove(poison.message_id)).has_value());
  EXPECT_EQ(run(collector.collect(clock_->now()))->jobs, 1U);
  // The key is free again: another job may have it.
  EXPECT_NE(submit(R"({"kind":"delete","source":"Other","filter":"","idempotencyKey":"k"})").id, old.id);
}

TEST_F(WorkersKinds, APlanTellsWhatAJobWouldDoAndDoesNothing) {
  for (int i = 0; i < 40; ++i) put("p", std::to_string(i), i);
  finish(R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"0"})");
  put("p", "0", 0);
  auto plan_of = [&](const char* text) {
    auto plan = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_}}, *jobs::parse_job_spec(text)));
    EXPECT_TRUE(plan.has_value()) << plan.error().message;
    return plan ? *plan : jobs::JobPlan{};
  };
  const auto plan = plan_of(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"Number lt 10"})");
  EXPECT_EQ(plan.keys, 10U);
  ASSERT_EQ(plan.samples.size(), jobs::kPlanSamples);
  EXPECT_NE(plan.samples[0].steps.at(0).find("replaces the copy of an older version"), std::string::npos);
  EXPECT_NE(plan.samples[1].steps.at(0).find("nothing is there"), std::string::npos);
  EXPECT_EQ(all("Source").size(), 40U);
  EXPECT_EQ(plan_of(R"({"kind":"delete","source":"Source","filter":"","maxAffected":39})").problems.size(), 1U);
  EXPECT_EQ(plan_of(R"({"kind":"delete","source":"Missing","filter":""})").problems.size(), 1U);
  EXPECT_EQ(plan_of(R"({"kind":"undo","job":"7fffffffffffffff-00000000"})").problems.size(), 1U);
  EXPECT_EQ(plan_of(R"({"kind":"delete","source":"Source","filter":"","maxPerSecond":10})").seconds, 4.0);
  EXPECT_EQ(plan_of(R"({"kind":"redrive","limit":5})").keys, 0U);
  put("p", "1", 0, "Archive");
  put("p", "1", 1);
  const auto blocked =
      plan_of(R"({"kind":"archive","source":"Source","destination":"Archive","filter":"RowKey eq '1'"})");
  EXPECT_NE(blocked.samples.at(0).steps.at(0).find("another entity is in the way"), std::string::npos);
}

TEST_F(WorkersKinds, ManyJobsAreSubmittedSideBySide) {
  std::vector<jobs::JobSpec> specs;
  for (int i = 0; i < 100; ++i) {
    specs.push_back(*jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":"","idempotencyKey":"k)" +
                                          std::to_string(i % 90) + "\"}"));
  }
  const auto outcomes = run(jobs_.submit_all(std::move(specs)));
  ASSERT_EQ(outcomes.size(), 100U);
  std::set<std::string> ids;
  for (const auto& outcome : outcomes) {
    ASSERT_TRUE(outcome.has_value());
    ids.insert(outcome->job.id);
  }
  EXPECT_EQ(ids.size(), 90U);
  EXPECT_EQ(outcomes[5]->job.id, outcomes[95]->job.id);
}

}  // namespace
}  // namespace tidemark::workers
