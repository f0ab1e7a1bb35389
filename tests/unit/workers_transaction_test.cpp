// Transactions: all of their steps, once, in order, or none.
#include "jobs/kinds/transaction/filled_steps.h"
#include "jobs/plan/plan.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

using jobs::JobState;
using nlohmann::json;

constexpr const char* kPay = R"({"kind":"transaction",
  "guards":[{"as":"o","table":"Orders","partitionKey":"shop","rowKey":"17","where":"State eq 'open'"}],
  "steps":[
    {"merge":{"of":"o","set":{"State":"paid"}}},
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":"{o.Cents}"}}},
    {"insert":{"table":"Paid","partitionKey":"{o.Customer}","rowKey":"{o.RowKey}",
               "entity":{"Cents":"{o.Cents}","Text":"{o.Cents} cents","Job":"{job.id}"}}},
    {"message":{"queue":"mail","json":{"to":"{o.Customer}","cents":"{o.Cents}"}}},
    {"blob":{"container":"bills","name":"{o.Customer}/17.txt","text":"{{{o.Cents}}}"}}]})";

class WorkersTransaction : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    for (const auto* table : {"Orders", "Accounts", "Paid"}) ASSERT_TRUE(run(tables_.create_table(table)).has_value());
    ASSERT_TRUE(run(queues_.ensure_queue("mail")).has_value());
    ASSERT_TRUE(run(blobs_.ensure_container("bills")).has_value());
    reset();
  }
  void set(const std::string& table, const std::string& partition, const std::string& row,
           std::vector<table_store::Property> properties) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = std::move(properties);
    const auto done = run(tables_.mutate(table, partition, {mutation}, std::nullopt));
    ASSERT_TRUE(done.has_value()) << done.error().message;
  }
  /// The order and the account as they are before kPay, and no trace of an earlier one.
  void reset() {
    set("Orders", "shop", "17", {{"State", "open"}, {"Cents", std::int64_t{500}}, {"Customer", "c7"}});
    set("Accounts", "c7", "balance", {{"Cents", std::int64_t{1000}}});
    for (const auto& entity : all("Paid")) {
      Mutation erase;
      erase.kind = MutationKind::kErase;
      erase.row_key = entity.row_key;
      ASSERT_TRUE(run(tables_.mutate("Paid", entity.partition_key, {erase}, std::nullopt)).has_value());
    }
    ASSERT_TRUE(run(queues_.clear("mail")).has_value());
  }
  std::optional<Entity> find(const std::string& table, const std::string& partition, const std::string& row) {
    const auto found = run(tables_.get(table, partition, row));
    EXPECT_TRUE(found.has_value());
    return found ? *found : std::nullopt;
  }
  std::int64_t cents(const std::string& row = "balance") {
    const auto entity = find("Accounts", "c7", row);
    return entity ? std::get<std::int64_t>(*entity->find("Cents")) : -1;
  }
  std::string state_of_order() { return std::get<std::string>(*find("Orders", "shop", "17")->find("State")); }
  void expect_untouched() {
    EXPECT_EQ(state_of_order(), "open");
    EXPECT_EQ(cents(), 1000);
    EXPECT_TRUE(all("Paid").empty());
    EXPECT_EQ(messages("mail"), 0U);
  }
  void expect_paid() {
    EXPECT_EQ(state_of_order(), "paid");
    EXPECT_EQ(cents(), 1500);
    EXPECT_EQ(all("Paid").size(), 1U);
    EXPECT_EQ(messages("mail"), 1U);
  }
  RunEnd work_to_the_end() {
    auto end = RunEnd::kRetried;
    for (int i = 0; i < 30 && end == RunEnd::kRetried; ++i) end = work_next().end;
    return end;
  }
  bool overtaken_ = false;
  std::string problems(const std::string& text) {
    const auto spec = jobs::parse_job_spec(text);
    return spec ? "" : spec.error().message;
  }
};

TEST_F(WorkersTransaction, TakesAllStepsWithTheirValuesAndTypes) {
  const auto job = finish(kPay);
  expect_paid();
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.done, 5U);
  const auto paid = find("Paid", "c7", "17");
  ASSERT_TRUE(paid.has_value());
  EXPECT_EQ(std::get<std::int64_t>(*paid->find("Cents")), 500);
  EXPECT_EQ(std::get<std::string>(*paid->find("Text")), "500 cents");
  EXPECT_EQ(std::get<std::string>(*paid->find("Job")), job.id);
  EXPECT_EQ(std::get<std::string>(*find("Orders", "shop", "17")->find("Customer")), "c7") << "a merge keeps the rest";
  const auto message = receive("mail");
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(json::parse(message->text), (json{{"to", "c7"}, {"cents", 500}}));
  const auto bill = run(blobs_.read("bills", "c7/17.txt", 0, std::nullopt));
  ASSERT_TRUE(bill && *bill);
  EXPECT_EQ((*bill)->bytes, "{500}");
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersTransaction, AGuardThatDoesNotHoldEndsItWithoutAnyEffect) {
  set("Orders", "shop", "17", {{"State", "lost"}, {"Cents", std::int64_t{500}}, {"Customer", "c7"}});
  const auto job = submit(kPay);
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  const auto ended = record(job.id);
  EXPECT_EQ(ended.state, JobState::kCancelled);
  const auto result = json::parse(ended.result);
  EXPECT_EQ(result["guard"], 0);
  EXPECT_EQ(result["found"]["State"], "lost");
  EXPECT_NE(ended.error.find("does not match State eq 'open'"), std::string::npos) << ended.error;
  EXPECT_EQ(cents(), 1000);
  EXPECT_TRUE(all("Paid").empty());
  EXPECT_EQ(messages("mail"), 0U);
  EXPECT_EQ(messages_left(), 0U) << "it is not poison";
  EXPECT_EQ(messages(std::string(jobs::kPoisonQueue)), 0U);
}

TEST_F(WorkersTransaction, AGuardMayAskThatThereBeNothing) {
  const std::string text = R"({"kind":"transaction",
    "guards":[{"as":"n","table":"Accounts","partitionKey":"c7","rowKey":"new","where":"absent"}],
    "steps":[{"put":{"of":"n","entity":{"Cents":{"type":"Int64","value":"1"},"Key":"{n.PartitionKey}/{n.RowKey}"}}}]})";
  finish(text);
  EXPECT_EQ(cents("new"), 1);
  EXPECT_EQ(std::get<std::string>(*find("Accounts", "c7", "new")->find("Key")), "c7/new");
  const auto again = submit(text);
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  EXPECT_EQ(json::parse(record(again.id).result)["reason"], "there is such an entity");
}

TEST_F(WorkersTransaction, AMistakeMakesItPoisonBeforeAnythingIsChanged) {
  for (const auto& [step, reason] : std::vector<std::pair<std::string, std::string>>{
           {R"({"merge":{"of":"o","set":{"X":"{o.Absent}"}}})", "steps[1]: merge: There is no value for {o.Absent}"},
           {R"({"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"none","set":{"X":1}}})", "steps[1]: merge"},
           {R"({"merge":{"of":"o","add":{"Customer":1}}})", "'Customer' is not a number"},
           {R"({"put":{"table":"Nowhere","partitionKey":"p","rowKey":"r","entity":{}}})", "steps[1]: put"},
           {R"({"message":{"queue":"nowhere","text":"t"}})", "queue 'nowhere'"},
           {R"({"blob":{"container":"nowhere","name":"n","text":"t"}})", "container 'nowhere'"}}) {
    const auto job = submit(
        R"({"kind":"transaction","maxAttempts":1,
            "guards":[{"as":"o","table":"Orders","partitionKey":"shop","rowKey":"17"}],
            "steps":[{"merge":{"of":"o","set":{"State":"paid"}}},)" +
        step + "]}");
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned) << step;
    EXPECT_NE(record(job.id).error.find(reason), std::string::npos) << record(job.id).error;
    expect_untouched();
  }
}

TEST_F(WorkersTransaction, EveryProblemOfASubmissionIsNamedWithItsPlace) {
  const auto told = problems(R"({"kind":"transaction",
    "guards":[{"as":"job","table":"T"},{"as":"a","table":"TidemarkJobs","partitionKey":"p","rowKey":"{a.X}","where":"X eq"}],
    "steps":[{"merge":{"of":"b","set":{"P":"{c.D}"}}},{"put":{"table":"Tab","partitionKey":"{","rowKey":"r","entity":{"A":[1]}}},
             {"fly":{}},{"message":{"queue":"q"}},{"merge":{"of":"a","set":{"A":1},"add":{"A":1}}},
             {"delete":{"of":"a","table":"Tab"}}]})");
  for (const auto* problem :
       {"guards[0]: as must be a name", "guards[0]: table must be a table name", "guards[0]: partitionKey is missing",
        "guards[1]: table must not be TidemarkJobs", "guards[1]: where: ", "guards[1]: the keys of a guard",
        "steps[0]: of: no guard is named 'b'", "steps[0]: {c.D}: no guard has this name",
        "steps[1]: put: partitionKey: has a brace without its partner", "steps[1]: put: entity: 'A' must not be a list",
        "steps[2]: must be an object with one of put, insert, merge, delete, message, blob, callback",
        "steps[3]: message: give text or json", "steps[4]: merge: 'A' is to be set and added to",
        "steps[5]: delete: give of, or table and keys, not both"}) {
    EXPECT_NE(told.find(problem), std::string::npos) << problem << "\n" << told;
  }
  EXPECT_NE(problems(R"({"kind":"transaction","steps":[]})").find("1 to 100 steps"), std::string::npos);
}

TEST_F(WorkersTransaction, TheCanonicalTextReadsAsTheSameJob) {
  const auto spec = jobs::parse_job_spec(kPay);
  ASSERT_TRUE(spec.has_value());
  const auto again = jobs::parse_job_spec(jobs::canonical_text(*spec));
  ASSERT_TRUE(again.has_value()) << again.error().message;
  EXPECT_EQ(*again, *spec);
}

TEST_F(WorkersTransaction, ALossAnywhereDoesNothingTwice) {
  survives_a_loss_anywhere(
      kPay, [this] { reset(); },
      [this](const jobs::JobRecord& job) {
        EXPECT_EQ(job.state, JobState::kSucceeded);
        expect_paid();
      });
}

TEST_F(WorkersTransaction, ALostAnswerOfTheQueueDoesNotPutTheMessageTwice) {
  for (const auto* method : {"queue.put", "queue.close", "queue.open"}) {
    reset();
    const auto job = submit(kPay);
    bool lost = false;
    queue_link_.lose_reply = nullptr;
    queue_link_.lose_reply_to = method;
    EXPECT_EQ(work_next().end, std::string_view(method) == "queue.open" ? RunEnd::kSucceeded : RunEnd::kRetried);
    lost = true;
    queue_link_.lose_reply_to.clear();
    if (std::string_view(method) != "queue.open") EXPECT_EQ(work_to_the_end(), RunEnd::kSucceeded);
    EXPECT_TRUE(lost);
    EXPECT_EQ(record(job.id).state, JobState::kSucceeded) << method;
    expect_paid();
  }
}

TEST_F(WorkersTransaction, AWorkerWhoseLeaseIsOverChangesNothingMore) {
  // Before each call of the first worker that changes something, another worker takes the job over and ends it.
  for (const auto* method : {"table.take_steps", "queue.put", "blob.put", "table.close"}) {
    reset();
    const auto job = submit(kPay);
    auto message = receive();
    ASSERT_TRUE(message.has_value());
    overtaken_ = false;
    for (auto* link : {&table_link_, &queue_link_, &blob_link_}) {
      link->before = [&](std::string called) -> Task<Result<void>> {
        if (overtaken_ || called != method) co_return Result<void>{};
        overtaken_ = true;
        auto lease = queue_service::lease_of("tidemark-jobs", *message);
        CO_TRY(co_await queues_.release(std::move(lease), Duration::zero(), "", true));
        auto taken =
            CO_TRY(co_await queues_.receive("tidemark-jobs", std::chrono::seconds(30), std::chrono::seconds(1)));
        if (!taken) co_return fail(ErrorCode::kInternalError);
        LimitGate gate(tables_, *clock_, options_.lease);
        JobRunner runner(options_, services(), gate);
        const auto report = co_await runner.run(std::move(*taken), clock_->now(), std::make_shared<const bool>(false));
        EXPECT_EQ(report.end, RunEnd::kSucceeded) << method;
        co_return Result<void>{};
      };
    }
    const auto late = work(*message);
    for (auto* link : {&table_link_, &queue_link_, &blob_link_}) link->before = nullptr;
    EXPECT_NE(late.end, RunEnd::kPoisoned) << method;
    EXPECT_EQ(record(job.id).state, JobState::kSucceeded) << method;
    expect_paid();
  }
}

TEST_F(WorkersTransaction, AnEntityThatChangesBeforeTheDecisionIsReadAgain) {
  submit(kPay);
  int changes = 0;
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.take_steps" || changes == 3) co_return Result<void>{};
    ++changes;
    Mutation mutation;
    mutation.kind = MutationKind::kMerge;
    mutation.row_key = "17";
    mutation.properties = {{"Cents", std::int64_t{500 + changes}}};
    CO_TRY(co_await tables_.mutate("Orders", "shop", {mutation}, std::nullopt));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(changes, 3);
  EXPECT_EQ(cents(), 1503) << "with the value that the order had when it was decided";
}

TEST_F(WorkersTransaction, OfTwoThatGuardOneEntityOneDecides) {
  const auto first = submit(kPay);
  const auto second = submit(kPay);
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.take_steps" || std::exchange(overtaken_, true)) co_return Result<void>{};
    auto taken = CO_TRY(co_await queues_.receive("tidemark-jobs", std::chrono::seconds(30), std::chrono::seconds(1)));
    if (!taken) co_return fail(ErrorCode::kInternalError);
    LimitGate gate(tables_, *clock_, options_.lease);
    JobRunner runner(options_, services(), gate);
    const auto report = co_await runner.run(std::move(*taken), clock_->now(), std::make_shared<const bool>(false));
    EXPECT_EQ(report.end, RunEnd::kSucceeded);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  const bool one =
      (record(first.id).state == JobState::kSucceeded) != (record(second.id).state == JobState::kSucceeded);
  EXPECT_TRUE(one);
  expect_paid();
}

TEST_F(WorkersTransaction, IsCancelledBeforeTheDecisionAndNotAfterIt) {
  const auto early = submit(kPay);
  ASSERT_TRUE(run(jobs_.cancel(early.id)).has_value());
  EXPECT_EQ(record(early.id).state, JobState::kCancelled);
  expect_untouched();

  const auto late = submit(kPay);
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "queue.put") co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  queue_link_.before = nullptr;
  EXPECT_TRUE(run(jobs_.cancel(late.id)).failed_with(ErrorCode::kTransactionDecided));
  EXPECT_EQ(work_to_the_end(), RunEnd::kSucceeded);
  expect_paid();
}

TEST_F(WorkersTransaction, AWorkerThatDecidesAfterACancellationFindsIt) {
  const auto job = submit(kPay);
  table_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "table.take_steps" || std::exchange(overtaken_, true)) co_return Result<void>{};
    const auto cancelled = co_await jobs_.cancel(job.id);
    EXPECT_TRUE(cancelled.has_value());
    co_return Result<void>{};
  };
  std::ignore = work_next();
  EXPECT_EQ(record(job.id).state, JobState::kCancelled);
  expect_untouched();
}

TEST_F(WorkersTransaction, APoisonedOneGoesOnWhereItStoppedWithOtherStepsFromThereOn) {
  const std::string begin = R"({"kind":"transaction","maxAttempts":1,"steps":[
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":5}}},
    {"message":{"queue":"mail","text":"m"}},)";
  const auto job =
      submit(begin + R"({"merge":{"table":"Accounts","partitionKey":"c8","rowKey":"none","add":{"Cents":5}}}]})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("steps[2]: merge"), std::string::npos) << record(job.id).error;
  EXPECT_EQ(cents(), 1005);
  EXPECT_EQ(messages("mail"), 1U);

  const auto redrive = [&](const std::string& text) {
    auto spec = jobs::parse_job_spec(text);
    ASSERT_TRUE(spec.has_value());
    const auto found = run(poison_.list(10, {}));
    ASSERT_TRUE(found && found->records.size() == 1);
    const auto sent = run(poison_.redrive(found->records.front().message_id, std::move(*spec), "me"));
    ASSERT_TRUE(sent.has_value()) << sent.error().message;
  };
  // The first step has been taken, so it cannot be another one.
  redrive(R"({"kind":"transaction","maxAttempts":1,"steps":[
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":6}}}]})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("steps[0] has been taken already"), std::string::npos) << record(job.id).error;

  redrive(begin +
          R"({"merge":{"table":"Accounts","partitionKey":"c8","rowKey":"none","orInsert":true,"add":{"Cents":5}}}]})");
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(cents(), 1005) << "the first step was not taken again";
  EXPECT_EQ(messages("mail"), 1U);
  EXPECT_TRUE(find("Accounts", "c8", "none").has_value());
}

TEST_F(WorkersTransaction, IsUndoneFromStepToStep) {
  // Two steps change one entity, one makes an entity, one deletes another, and a message stays.
  set("Accounts", "c7", "old", {{"Cents", std::int64_t{7}}, {"Note", "n"}});
  const auto job = finish(R"({"kind":"transaction","steps":[
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":5}}},
    {"put":{"table":"Accounts","partitionKey":"c7","rowKey":"new","entity":{"Cents":1}}},
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","set":{"Note":"x"}}},
    {"delete":{"table":"Accounts","partitionKey":"c7","rowKey":"old"}},
    {"message":{"queue":"mail","text":"m"}},
    {"put":{"table":"Paid","partitionKey":"p","rowKey":"r","entity":{"A":1}}}]})");
  ASSERT_EQ(cents(), 1005);
  set("Paid", "p", "r", {{"A", std::int32_t{2}}});  // somebody changes what the last step wrote
  const auto undone = finish(R"({"kind":"undo","job":")" + job.id + R"("})");
  EXPECT_EQ(cents(), 1000);
  EXPECT_EQ(find("Accounts", "c7", "balance")->find("Note"), nullptr);
  EXPECT_FALSE(find("Accounts", "c7", "new"));
  const auto old = find("Accounts", "c7", "old");
  ASSERT_TRUE(old.has_value());
  EXPECT_EQ(old->properties.size(), 2U);
  EXPECT_EQ(std::get<std::int32_t>(*find("Paid", "p", "r")->find("A")), 2);
  EXPECT_EQ(undone.done, 4U);
  EXPECT_EQ(json::parse(undone.result)["left"], json::parse(R"([{"step":4,"why":"a message is not taken back"},
                            {"step":5,"why":"the entity has been changed since"}])"));
  // Once more: it finds that the entities are not as the transaction left them.
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + job.id + R"("})").done, 0U);
  EXPECT_EQ(cents(), 1000);
}

TEST_F(WorkersTransaction, AnUndoSurvivesALossAnywhere) {
  for (const bool answers : {false, true}) {
    for (int at = 1; at < 60; ++at) {
      reset();
      const auto job = finish(R"({"kind":"transaction","steps":[
        {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":5}}},
        {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":6}}},
        {"put":{"table":"Paid","partitionKey":"p","rowKey":"r","entity":{"A":1}}}]})");
      const auto undo = submit(R"({"kind":"undo","job":")" + job.id + R"("})");
      int calls = 0;
      if (answers) table_link_.lose_reply = [&] { return ++calls == at; };
      if (!answers) {
        table_link_.before = [&](std::string) -> Task<Result<void>> {
          if (++calls == at) co_return fail(ErrorCode::kUnavailable);
          co_return Result<void>{};
        };
      }
      std::ignore = work_to_the_end();
      table_link_.before = nullptr;
      table_link_.lose_reply = nullptr;
      EXPECT_EQ(record(undo.id).state, JobState::kSucceeded) << at;
      EXPECT_EQ(cents(), 1000) << (answers ? "answer " : "request ") << at;
      EXPECT_TRUE(all("Paid").empty());
      if (calls < at) break;
    }
  }
}

TEST_F(WorkersTransaction, APoisonedOneThatIsUndoneNeverGoesOn) {
  const auto job = submit(R"({"kind":"transaction","maxAttempts":1,"steps":[
    {"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"balance","add":{"Cents":5}}},
    {"message":{"queue":"mail","text":"m"}},
    {"merge":{"table":"Accounts","partitionKey":"c8","rowKey":"none","add":{"Cents":5}}}]})");
  ASSERT_EQ(work_next().end, RunEnd::kPoisoned);
  ASSERT_EQ(cents(), 1005);
  EXPECT_EQ(finish(R"({"kind":"undo","job":")" + job.id + R"("})").done, 1U);
  EXPECT_EQ(cents(), 1000);
  const auto found = run(poison_.list(10, {}));
  ASSERT_TRUE(found && found->records.size() == 1);
  ASSERT_TRUE(run(poison_.redrive(found->records.front().message_id, std::nullopt, "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("was closed before all of its steps"), std::string::npos) << record(job.id).error;
  EXPECT_EQ(cents(), 1000);
}

TEST_F(WorkersTransaction, ReachesOtherAccounts) {
  accounts_ = {"other"};
  const auto there = tables_.as("other");
  ASSERT_TRUE(run(there->create_table("Paid")).has_value());
  ASSERT_TRUE(run(queues_.as("other")->ensure_queue("mail")).has_value());
  const std::string text = R"({"kind":"transaction",
    "guards":[{"as":"o","table":"Orders","partitionKey":"shop","rowKey":"17"}],
    "steps":[{"put":{"account":"other","table":"Paid","partitionKey":"p","rowKey":"r","entity":{"C":"{o.Cents}"}}},
             {"merge":{"of":"o","set":{"State":"paid"}}},
             {"message":{"account":"other","queue":"mail","text":"m"}}]})";
  const auto job = finish(text);
  EXPECT_EQ(job.accounts, "devstoreaccount1,other");
  EXPECT_EQ(state_of_order(), "paid");
  EXPECT_TRUE((*run(there->get("Paid", "p", "r"))).has_value());
  EXPECT_EQ(run(queues_.as("other")->figures("mail"))->messages, 1U);
  EXPECT_TRUE(run(there->read_operation(job.id))->closed);
  accounts_ = {};
  const auto refused = submit(text);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(refused.id).error.find("job_accounts"), std::string::npos);
}

TEST_F(WorkersTransaction, ThePlanSaysWhatEachStepWouldChange) {
  const auto plan = [this](const std::string& text) {
    return run(jobs::plan_job({jobs_, poison_, tables_, {&blobs_}}, *jobs::parse_job_spec(text)));
  };
  const auto good = plan(kPay);
  ASSERT_TRUE(good.has_value()) << good.error().message;
  ASSERT_EQ(good->samples.size(), 5U);
  EXPECT_EQ(good->keys, 5U);
  EXPECT_EQ(good->samples[0].steps[0], R"(Orders: set State from "open" to "paid")");
  EXPECT_NE(good->samples[1].steps[0].find("Cents"), std::string::npos) << good->samples[1].steps[0];
  EXPECT_EQ(good->samples[2].steps[0], "Paid: insert the entity");
  EXPECT_TRUE(good->problems.empty());
  expect_untouched();
  set("Orders", "shop", "17", {{"State", "lost"}});
  const auto bad = plan(kPay);
  ASSERT_TRUE(bad.has_value());
  ASSERT_EQ(bad->problems.size(), 1U);
  EXPECT_NE(bad->problems[0].find("guards[0] does not hold"), std::string::npos);
}

TEST_F(WorkersTransaction, AmountsAreAddedInTheTypeOfTheNumberAndMustFit) {
  set("Accounts", "c7", "small", {{"N", std::int32_t{2'147'483'647}}, {"D", 1.5}});
  finish(R"({"kind":"transaction","steps":[{"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"small",
            "add":{"N":-1,"D":1,"New":7}}}]})");
  const auto entity = find("Accounts", "c7", "small");
  EXPECT_EQ(std::get<std::int32_t>(*entity->find("N")), 2'147'483'646);
  EXPECT_EQ(std::get<double>(*entity->find("D")), 2.5);
  EXPECT_EQ(std::get<std::int32_t>(*entity->find("New")), 7);
  const auto job = submit(R"({"kind":"transaction","steps":[{"merge":{"table":"Accounts","partitionKey":"c7",
            "rowKey":"small","add":{"N":2}}}]})");
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_NE(record(job.id).error.find("does not fit"), std::string::npos) << record(job.id).error;
  // From one account to another, by the number that a guard has read.
  set("Accounts", "c7", "other", {{"Cents", std::int64_t{0}}});
  finish(R"({"kind":"transaction","guards":[{"as":"a","table":"Accounts","partitionKey":"c7","rowKey":"balance"}],
    "steps":[{"merge":{"table":"Accounts","partitionKey":"c7","rowKey":"other","add":{"Cents":"{a.Cents}"}}},
             {"merge":{"of":"a","add":{"Cents":"-{a.Cents}"}}}]})");
  EXPECT_EQ(cents(), 0);
  EXPECT_EQ(cents("other"), 1000);
}

}  // namespace
}  // namespace tidemark::workers
