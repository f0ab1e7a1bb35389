// Jobs whose source and destination are in different accounts.
#include "jobs/plan/plan.h"
#include "workers/runtime/job_batch.h"
#include "workers/upkeep/collector.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kToOther =
    R"({"kind":"archive","source":"Source","destination":"Former","filter":"","destinationAccount":"other"})";

class WorkersAccounts : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    accounts_ = {"other", "third"};
  }
  table_store::TableClient& in(const std::string& account) {
    auto& client = clients_[account];
    if (!client) client = tables_.as(account);
    return *client;
  }
  std::size_t count(const std::string& account, const std::string& table) {
    table_store::QueryRequest request;
    request.table = table;
    auto page = run(in(account).query(std::move(request)));
    EXPECT_TRUE(page.has_value() || page.failed_with(ErrorCode::kTableNotFound));
    return page ? page->entities.size() : 0;
  }
  void put_in(const std::string& account, const std::string& table, const std::string& row) {
    const auto made = run(in(account).create_table(table));
    EXPECT_TRUE(made || made.failed_with(ErrorCode::kTableAlreadyExists));
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"Number", std::int32_t{1}}};
    EXPECT_TRUE(run(in(account).mutate(table, "p", {mutation}, std::nullopt)).has_value());
  }
  table_store::OperationLedger ledger(const std::string& account, const std::string& id) {
    auto found = run(in(account).read_operation(id));
    EXPECT_TRUE(found.has_value());
    return found.value_or(table_store::OperationLedger{});
  }
  void fill() {
    for (int i = 0; i < 5; ++i) put("p" + std::to_string(i % 2), std::to_string(i), i);
  }
  std::string poison_reason(const std::string& text) {
    const auto job = submit(text);
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    return record(job.id).error;
  }
  std::map<std::string, std::shared_ptr<table_store::TableClient>> clients_;
};

TEST_F(WorkersAccounts, AnArchiveInAnotherAccountAndBack) {
  fill();
  const auto job = finish(kToOther);
  EXPECT_EQ(job.done, 5U);
  EXPECT_EQ(job.accounts, "devstoreaccount1,other");
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(count("other", "Former"), 5U);
  EXPECT_FALSE(*run(tables_.table_exists("Former"))) << "nothing of it is in the account of the jobs";
  EXPECT_TRUE(ledger(kAccount, job.id).closed);
  EXPECT_TRUE(ledger("other", job.id).closed);

  const auto undone = finish(R"({"kind":"undo","job":")" + job.id + R"("})");
  EXPECT_EQ(undone.done, 5U);
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_EQ(count("other", "Former"), 0U);
  EXPECT_TRUE(ledger("other", undone.id).closed);
  EXPECT_TRUE(ledger(kAccount, undone.id).closed);
}

TEST_F(WorkersAccounts, FromAnotherAccountItCountsThere) {
  for (const auto* row : {"1", "2", "3"}) put_in("other", "Source", row);
  put("p", "own", 1);
  const auto job =
      finish(R"({"kind":"archive","source":"Source","destination":"Source","filter":"","sourceAccount":"other"})");
  EXPECT_EQ(job.done, 3U);
  EXPECT_EQ(job.accounts, "other,devstoreaccount1");
  EXPECT_EQ(count("other", "Source"), 0U);
  EXPECT_EQ(all("Source").size(), 4U) << "tables of one name are different tables";
  EXPECT_EQ(ledger("other", job.id).counter(kDone), 3U);
}

TEST_F(WorkersAccounts, BetweenTwoOthersNothingIsInTheJobsAccount) {
  put_in("other", "Here", "1");
  const auto job = finish(R"({"kind":"archive","source":"Here","destination":"There","filter":"",
                              "sourceAccount":"other","destinationAccount":"third"})");
  EXPECT_EQ(job.done, 1U);
  EXPECT_EQ(count("other", "Here"), 0U);
  EXPECT_EQ(count("third", "There"), 1U);
  EXPECT_EQ(ledger(kAccount, job.id).epoch, 0U);
  EXPECT_TRUE(ledger("other", job.id).closed && ledger("third", job.id).closed);
}

TEST_F(WorkersAccounts, ASingleEntityTakesTheLongWay) {
  put("p", "r", 1);
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":"Former","partitionKey":"p","rowKey":"r",
                              "destinationAccount":"other"})");
  auto message = receive();
  EXPECT_FALSE(small_job(*message, jobs::kJobQueue, false)) << "it is more than one transaction";
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 1U);
  EXPECT_EQ(count("other", "Former"), 1U);
  EXPECT_TRUE(all("Source").empty());
}

TEST_F(WorkersAccounts, Copies) {
  fill();
  const auto job =
      finish(R"({"kind":"copy","source":"Source","destination":"Source","filter":"","destinationAccount":"other"})");
  EXPECT_EQ(job.done, 5U);
  EXPECT_EQ(job.accounts, "other");
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_EQ(count("other", "Source"), 5U);
  const auto undone = finish(R"({"kind":"undo","job":")" + job.id + R"("})");
  EXPECT_EQ(undone.done, 5U);
  EXPECT_EQ(count("other", "Source"), 0U);
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_TRUE(ledger("other", undone.id).closed);
}

TEST_F(WorkersAccounts, ContainersOfAnotherAccount) {
  for (const auto* format : {"entity", "lines"}) {
    fill();
    const std::string where = R"({"container":"old","format":")" + std::string(format) + R"("})";
    const auto job = finish(
        R"({"kind":"archive","source":"Source","destinationAccount":"other","filter":"","destination":)" + where + "}");
    EXPECT_EQ(job.done, 5U) << format;
    EXPECT_TRUE(all("Source").empty());
    EXPECT_TRUE(run(blobs_.list("old", {}, {})).failed_with(ErrorCode::kContainerNotFound)) << "of the jobs' account";
    const auto back = finish(
        R"({"kind":"unarchive","destination":"Back","destinationAccount":"third","sourceAccount":"other","filter":"","source":)" +
        where.substr(0, where.size() - 1) + R"(,"table":"Source"}})");
    EXPECT_EQ(back.done, 5U) << format;
    EXPECT_EQ(back.accounts, "third,other");
    EXPECT_EQ(count("third", "Back"), 5U);
    ASSERT_TRUE(run(in("third").delete_table("Back")).has_value());
  }
}

TEST_F(WorkersAccounts, OnlyAccountsThatTheSettingNames) {
  fill();
  accounts_ = {"third"};
  EXPECT_NE(poison_reason(kToOther).find("job_accounts"), std::string::npos);
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_EQ(count("other", "Former"), 0U);
  // The account of the jobs may be named, too.
  const auto job = finish(R"({"kind":"archive","source":"Source","destination":"Former","filter":"",
                              "sourceAccount":"devstoreaccount1","destinationAccount":"third"})");
  EXPECT_EQ(job.accounts, "devstoreaccount1,third");
}

TEST_F(WorkersAccounts, AMoveFromAPlaceToItselfIsRefusedWhateverItIsCalled) {
  fill();
  EXPECT_NE(poison_reason(R"({"kind":"archive","source":"Source","destination":"source","filter":"",
                              "destinationAccount":"devstoreaccount1"})")
                .find("two tables"),
            std::string::npos);
  EXPECT_EQ(all("Source").size(), 5U);
  EXPECT_NE(poison_reason(R"({"kind":"copy","source":"Source","destination":"Source","filter":"",
                              "sourceAccount":"devstoreaccount1"})")
                .find("two tables"),
            std::string::npos);
}

TEST_F(WorkersAccounts, AFailureAtAnyCallOfAMoveIsMadeUpFor) {
  survives_a_fault_at_any_call(
      kToOther, [&] { fill(); },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 5U);
        EXPECT_TRUE(all("Source").empty());
        EXPECT_EQ(count("other", "Former"), 5U);
        EXPECT_TRUE(ledger("other", job.id).closed);
      });
}

TEST_F(WorkersAccounts, ALossAnywhereOnTheWayBackIsMadeUpFor) {
  survives_a_loss_anywhere(
      R"({"kind":"unarchive","source":"Former","destination":"Source","filter":"","sourceAccount":"other"})",
      [&] {
        fill();
        finish(kToOther);
      },
      [&](const jobs::JobRecord& job) {
        EXPECT_EQ(job.done, 5U);
        EXPECT_EQ(all("Source").size(), 5U);
        EXPECT_EQ(count("other", "Former"), 0U);
        EXPECT_TRUE(ledger("other", job.id).closed && ledger(kAccount, job.id).closed);
      });
}

TEST_F(WorkersAccounts, ALaterDeliveryFencesTheEarlierOneInBothAccounts) {
  fill();
  const auto job = submit(kToOther);
  // The first delivery stops before it writes; the second begins and fails half-way.
  auto first = receive();
  queue_service::Lease lease{"tidemark-jobs", first->id, first->epoch};
  ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), "", true)).has_value());
  table_link_.before = [](const std::string& method) -> Task<Result<void>> {
    if (method == "table.exists") co_return fail(ErrorCode::kUnavailable);  // it asks after it has opened both
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  table_link_.before = nullptr;
  for (const auto* account : {kAccount, "other"}) {
    Mutation late;
    late.row_key = "late";
    const Fence fence{job.id, first->epoch, "", 0};
    EXPECT_TRUE(run(in(account).create_table("Late")).has_value());
    EXPECT_TRUE(run(in(account).mutate("Late", "p", {late}, fence)).failed_with(ErrorCode::kFenced)) << account;
  }
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 5U);
}

TEST_F(WorkersAccounts, CancellingClosesTheOperationEverywhere) {
  fill();
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":"Former","filter":"",
                              "destinationAccount":"other"})");
  int writes = 0;
  table_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method == "table.mutate" && ++writes == 6) {
      EXPECT_TRUE((co_await jobs_.cancel(job.id)).has_value());
    }
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
  EXPECT_TRUE(ledger(kAccount, job.id).closed && ledger("other", job.id).closed);
  EXPECT_EQ(record(job.id).done, ledger(kAccount, job.id).counter(kDone));
}

TEST_F(WorkersAccounts, TheRecordTakesAllItsLedgersAlong) {
  fill();
  const auto job = finish(kToOther);
  jobs::Collector collector(tables_, queues_, *clock_, std::chrono::hours(24));
  ASSERT_TRUE(run(collector.collect(clock_->now() + std::chrono::hours(48))).has_value());
  EXPECT_FALSE(run(jobs_.find(job.id))->has_value());
  EXPECT_EQ(ledger(kAccount, job.id).epoch, 0U);
  EXPECT_EQ(ledger("other", job.id).epoch, 0U);
}

TEST_F(WorkersAccounts, AnEditedJobLeavesTheAccountsThatItNamesNoMore) {
  fill();
  put_in("other", "Former", "0");
  table_link_.before = [](const std::string& method) -> Task<Result<void>> {
    if (method == "table.close") co_return fail(ErrorCode::kCorruption);
    co_return Result<void>{};
  };
  const auto job = submit(kToOther);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  table_link_.before = nullptr;
  for (int i = 0; i < 3; ++i) put("p", "new" + std::to_string(i), i);
  const auto edited = jobs::parse_job_spec(
      R"({"kind":"archive","source":"Source","destination":"Former","filter":"","destinationAccount":"third"})");
  ASSERT_TRUE(run(poison_.redrive(job.id, *edited, "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).accounts, "devstoreaccount1,third,other");
  EXPECT_EQ(record(job.id).done, 3U);
  EXPECT_EQ(count("third", "Former"), 3U);
  EXPECT_TRUE(ledger("other", job.id).closed && ledger("third", job.id).closed);
}

TEST_F(WorkersAccounts, APlanLooksAtBothAccountsIfItMay) {
  put_in("other", "Here", "1");
  const auto spec = jobs::parse_job_spec(R"({"kind":"archive","source":"Here","destination":"There","filter":"",
                                             "sourceAccount":"other","destinationAccount":"third"})");
  const auto plan = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, {}, accounts_}}, *spec));
  ASSERT_TRUE(plan.has_value());
  EXPECT_EQ(plan->keys, 1U);
  ASSERT_EQ(plan->samples.size(), 1U);
  EXPECT_EQ(plan->samples[0].steps[0], "copy to third/There: nothing is there");
  const auto refused = run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_, {}, {"third"}}}, *spec));
  ASSERT_TRUE(refused && refused->problems.size() == 1);
  EXPECT_NE(refused->problems[0].find("account 'other'"), std::string::npos);
  EXPECT_EQ(refused->keys, 0U);
}

}  // namespace
}  // namespace tidemark::workers
