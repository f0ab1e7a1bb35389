// Jobs over poison messages, end to end: redrive and purge.
#include "common/base/encoding.h"
#include "jobs/plan/plan.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

/// Runs ahead of another clock by a given duration.
class AdvancingClock final : public Clock {
 public:
  explicit AdvancingClock(Clock& clock) : clock_(clock) {}
  [[nodiscard]] Time now() const override { return clock_.now() + ahead; }
  [[nodiscard]] Duration monotonic() const override { return clock_.monotonic() + ahead; }
  std::shared_ptr<Timer> call_after(Duration delay, Executor executor, std::function<void()> fn) override {
    return clock_.call_after(delay, std::move(executor), std::move(fn));
  }
  Duration ahead{};

 private:
  Clock& clock_;
};

class WorkersRedrive : public WorkersFixture {
 protected:
  /// Makes jobs that fail as long as their table is missing.
  void poison_some(int count, const std::string& table) {
    for (int i = 0; i < count; ++i) {
      submit(R"({"kind":"delete","source":")" + table + R"(","filter":""})");
      EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
    }
  }
  RunEnd work_until_end(const std::string& id) {
    for (int i = 0; i < 200; ++i) {
      work_next();
      const auto state = record(id).state;
      if (state == jobs::JobState::kSucceeded) return RunEnd::kSucceeded;
      if (state == jobs::JobState::kPoisoned) return RunEnd::kPoisoned;
      if (state == jobs::JobState::kCancelled) return RunEnd::kDropped;
    }
    return RunEnd::kAbandoned;
  }
  void expect_left_alone(Duration later);
};

TEST_F(WorkersRedrive, GroupsFiltersAndEdits) {
  poison_some(3, "Missing");
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", "no job", Duration::zero())).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  auto groups = run(poison_.groups({}));
  ASSERT_TRUE(groups && groups->groups.size() == 2);
  EXPECT_EQ(groups->groups[0].count, 3U);
  EXPECT_EQ(groups->groups[0].kind, "delete");
  EXPECT_EQ(groups->groups[1].kind, "unknown");
  jobs::PoisonFilter filter;
  filter.kind = "unknown";
  auto unknown = run(poison_.list(10, "", filter));
  ASSERT_TRUE(unknown && unknown->records.size() == 1);
  const auto edited =
      run(poison_.edit(unknown->records[0].message_id,
                       *jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":""})"), "me"));
  ASSERT_TRUE(edited.has_value()) << edited.error().message;
  EXPECT_EQ(edited->kind, "delete");
  EXPECT_EQ(edited->reason, unknown->records[0].reason);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 4U);
  ASSERT_TRUE(run(poison_.redrive(edited->message_id, std::nullopt, "me")).has_value());
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
}

TEST_F(WorkersRedrive, OfTwoWhoEditAMessageTheSecondIsToldOfTheFirst) {
  poison_some(1, "Missing");
  const auto seen = run(poison_.list(1, "")).value().records.at(0);
  const auto mine = *jobs::parse_job_spec(R"({"kind":"delete","source":"Mine","filter":""})");
  const auto yours = *jobs::parse_job_spec(R"({"kind":"delete","source":"Yours","filter":""})");
  ASSERT_TRUE(run(poison_.edit(seen.message_id, mine, "me", seen.etag)));
  EXPECT_TRUE(run(poison_.edit(seen.message_id, yours, "you", seen.etag)).failed_with(ErrorCode::kConditionNotMet));
  EXPECT_TRUE(
      run(poison_.redrive(seen.message_id, yours, "you", {}, seen.etag)).failed_with(ErrorCode::kConditionNotMet));
  const auto now = run(poison_.find(seen.message_id)).value();
  EXPECT_EQ(now.source, "Mine");
  EXPECT_TRUE(run(poison_.redrive(seen.message_id, yours, "you", {}, now.etag)));
}

TEST_F(WorkersRedrive, AnEditThatComesBetweenLosesNothing) {
  poison_some(1, "Missing");
  const auto id = run(poison_.list(1, "")).value().records.at(0).message_id;
  const auto mine = *jobs::parse_job_spec(R"({"kind":"delete","source":"Mine","filter":""})");
  bool once = true;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.redrive" || !std::exchange(once, false)) co_return Result<void>{};
    CO_TRY(co_await poison_.edit(id, mine, "me"));
    co_return Result<void>{};
  };
  const auto sent = run(poison_.redrive(id, std::nullopt, "you"));
  queue_link_.before = nullptr;
  ASSERT_TRUE(sent.has_value());
  EXPECT_GT(sent->edited_epoch, 0U) << "what the edit noted is still known";
}

TEST_F(WorkersRedrive, AFilterFindsABodyHoweverItIsWritten) {
  const std::string body = R"({"kind":"delete","source":"Missing","filter":""})";
  const std::string escaped = R"({"kind":"del\u0065te","source":"Miss\u0069ng","filter":""})";
  const std::string other = R"({"kind":"copy","source":"Missing","destination":"deleted","filter":""})";
  for (const auto& text : {body, base64_encode(body), escaped, other}) {
    ASSERT_TRUE(run(queues_.put("tidemark-jobs", text, Duration::zero())).has_value());
    EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  }
  poison_some(1, "Other");
  jobs::PoisonFilter kind, source;
  kind.kind = "delete";
  source.source = "mISSING";
  EXPECT_EQ(run(poison_.list(10, "", kind))->records.size(), 4U);
  EXPECT_EQ(run(poison_.list(10, "", source))->records.size(), 4U);
}

TEST_F(WorkersRedrive, AHighPaceSendsManyAtOnceAndALimitIsKept) {
  poison_some(150, "Missing");
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  const auto job = submit(R"({"kind":"redrive","perSecond":2000,"canary":3,"limit":120})");
  EXPECT_EQ(work_until_end(job.id), RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 120U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 30U);
}

TEST_F(WorkersRedrive, SendsBackWhatMatchesAndTheRestStays) {
  poison_some(3, "Missing");
  poison_some(2, "Other");
  const auto groups = run(poison_.groups({}))->groups;
  ASSERT_EQ(groups.size(), 2U);  // one for each table
  EXPECT_EQ(groups[0].source, "Missing");
  const auto fingerprint = groups[0].fingerprint;
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", "no job", Duration::zero())).has_value());
  work_next();
  const auto job = submit(R"({"kind":"redrive","poisonKind":"delete","fingerprint":")" + fingerprint +
                          R"(","perSecond":10000,"limit":2})");
  EXPECT_EQ(work_until_end(job.id), RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 2U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 4U);
  const auto of_table = submit(R"({"kind":"redrive","poisonSource":"missing","perSecond":10000})");
  EXPECT_EQ(work_until_end(of_table.id), RunEnd::kSucceeded);
  EXPECT_EQ(record(of_table.id).done, 1U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 3U);
}

TEST_F(WorkersRedrive, WhatWasSentUntilItsWorkerHeardOfTheCancelIsCounted) {
  poison_some(150, "Missing");
  const auto job = submit(R"({"kind":"redrive","perSecond":1000})");
  int sent = 0;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    // In the second wave: the first has been reported, and the next report is some waves away.
    if (method == "queue.redrive" && ++sent == 60) CO_TRY(co_await jobs_.cancel(job.id));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
  EXPECT_GE(record(job.id).done, 60U);
  EXPECT_EQ(record(job.id).done, 150 - messages("tidemark-jobs-poison"));
  EXPECT_EQ(record(job.id).phase, jobs::kStoppedPhase);
}

TEST_F(WorkersRedrive, IfItsWorkerDiesAfterTheCancelTheNextOneCounts) {
  poison_some(40, "Missing");
  const auto job = submit(R"({"kind":"redrive","perSecond":200})");
  int sent = 0;
  bool dead = false;  // the worker no longer reaches anybody
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (dead) co_return fail(ErrorCode::kUnavailable);
    if (method != "queue.redrive" || ++sent != 33) co_return Result<void>{};
    CO_TRY(co_await jobs_.cancel(job.id));
    dead = true;
    co_return Result<void>{};
  };
  table_link_.before = [&](std::string) -> Task<Result<void>> {
    if (dead) co_return fail(ErrorCode::kUnavailable);
    co_return Result<void>{};
  };
  options_.lease = std::chrono::seconds(1);
  EXPECT_EQ(work_next().end, RunEnd::kAbandoned);
  queue_link_.before = nullptr;
  table_link_.before = nullptr;
  EXPECT_LT(record(job.id).done, 33U);
  // Its lease runs out.
  const auto page = run(queues_.list("tidemark-jobs", 100, ""));
  ASSERT_TRUE(page.has_value());
  for (const auto& message : page->messages) {
    if (message.id != job.message_id) continue;
    queue_service::Lease lease{"tidemark-jobs", message.id, message.epoch};
    ASSERT_TRUE(run(queues_.release(lease, Duration::zero(), message.annotation, true)).has_value());
  }
  while (messages("tidemark-jobs") > 0) work_next();
  EXPECT_EQ(record(job.id).done, static_cast<std::uint64_t>(sent));
  EXPECT_EQ(record(job.id).phase, jobs::kStoppedPhase);
}

TEST_F(WorkersRedrive, WhatAPersonDealtWithMeanwhileIsNotCounted) {
  poison_some(3, "Missing");
  const auto job = submit(R"({"kind":"redrive","perSecond":20})");  // one after the other
  bool first = true;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.redrive" || !std::exchange(first, false)) co_return Result<void>{};
    const auto page = CO_TRY(co_await poison_.list(10, {}));
    for (const auto& record : page.records) CO_TRY(co_await poison_.remove(record.message_id));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(job.id).done, 0U);
}

/// One of three is sent back and fails again before the sweep reaches it, which happens so much later.
void WorkersRedrive::expect_left_alone(Duration later) {
  poison_some(3, "Missing");
  const auto job = submit(R"({"kind":"redrive","perSecond":20})");  // one after the other
  AdvancingClock clock(*clock_);
  LimitGate gate(tables_, clock, options_.lease);
  JobRunner runner(options_, services(), gate);
  bool first = true;
  std::string anew;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.redrive" || !std::exchange(first, false)) co_return Result<void>{};
    anew = CO_TRY(co_await poison_.list(10, {})).records.at(2).message_id;
    CO_TRY(co_await poison_.redrive(anew, std::nullopt, "me"));
    auto message = CO_TRY(co_await queues_.receive("tidemark-jobs", std::chrono::seconds(30), Duration::zero()));
    const auto report = co_await runner.run(std::move(*message), clock_->now(), std::make_shared<const bool>(false),
                                            std::string(jobs::kJobQueue));
    EXPECT_EQ(report.end, RunEnd::kPoisoned);
    clock.ahead += later;
    co_return Result<void>{};
  };
  JobRunner sweeper(options_, {tables_, queues_, jobs_, clock, *random_}, gate);
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  const auto report = run(
      sweeper.run(std::move(*message), clock.now(), std::make_shared<const bool>(false), std::string(jobs::kJobQueue)));
  queue_link_.before = nullptr;
  EXPECT_EQ(report.end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 2U);
  const auto left = run(poison_.list(10, {})).value().records;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].message_id, anew);
}

TEST_F(WorkersRedrive, WhatFailsAnewWhileASlowSweepGoesOnStaysWhereItIs) { expect_left_alone(std::chrono::seconds(6)); }
TEST_F(WorkersRedrive, WhatFailsAnewBeforeASweepComesToItStaysWhereItIs) { expect_left_alone({}); }

/// A worker that dies leaves a note of the messages that it may have handled; the answer to one of its calls is lost.
TEST_F(WorkersRedrive, WhatWasNotedIsLookedAtAnewAndCountedOnce) {
  poison_some(5, "Missing");
  const auto job = submit(R"({"kind":"redrive","perSecond":10000})");
  int sent = 0;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.redrive") co_return Result<void>{};
    if (sent == 3) co_return fail(ErrorCode::kUnavailable);
    ++sent;
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kRetried);
  queue_link_.before = nullptr;
  // Messages that were sent back fail again before the next delivery.
  std::optional<queue_service::Message> redrive;
  for (int i = 0; i < 4; ++i) {
    auto message = receive();
    ASSERT_TRUE(message.has_value());
    if (message->id == job.message_id) {
      redrive = std::move(message);
    } else {
      EXPECT_EQ(work(std::move(*message)).end, RunEnd::kPoisoned);
    }
  }
  ASSERT_TRUE(redrive.has_value());
  EXPECT_EQ(work(std::move(*redrive)).end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 5U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 3U) << "what came back is not sent again";
  EXPECT_EQ(messages("tidemark-jobs"), 2U);
}

class WorkersPurge : public WorkersRedrive {
 protected:
  std::vector<std::string> put_poison(const std::string& queue, int count) {
    std::vector<std::string> ids;
    EXPECT_TRUE(run(queues_.ensure_queue(queue + "-poison")).has_value());
    for (int i = 0; i < count; ++i) {
      ids.push_back(run(queues_.put(queue + "-poison", "text " + std::to_string(i), Duration::zero())).value());
    }
    return ids;
  }
  jobs::JobPlan plan_of(const std::string& text) {
    return run(jobs::plan_job({jobs_, poison_, tables_}, *jobs::parse_job_spec(text))).value();
  }
};

TEST_F(WorkersPurge, ForgetsWhatMatchesAndWasThereWhenItWasAskedFor) {
  poison_some(3, "Missing");
  poison_some(2, "Other");
  const std::string purge = R"({"kind":"purge","poisonSource":"missing"})";
  EXPECT_EQ(plan_of(purge).keys, 3U);
  const auto job = submit(purge);
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  poison_some(1, "Missing");
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 3U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 3U);
  EXPECT_EQ(finish(R"({"kind":"purge","limit":1})").done, 1U);
  EXPECT_EQ(finish(R"({"kind":"purge"})").done, 2U);
}

TEST_F(WorkersPurge, ThoseThatAreNamedByTheirOwnIdOrTheirJobs) {
  poison_some(4, "Missing");
  const auto found = run(poison_.list(10, {})).value().records;
  const auto text = R"({"kind":"purge","poisonIds":[")" + found[0].message_id + R"(",")" + found[2].job_id +
                    R"(","00000000-0000-0000-0000-000000000000"]})";
  EXPECT_EQ(plan_of(text).keys, 2U);
  EXPECT_EQ(finish(text).done, 2U);
  const auto left = run(poison_.list(10, {})).value().records;
  ASSERT_EQ(left.size(), 2U);
  EXPECT_EQ(left[0].message_id, found[1].message_id);
  EXPECT_EQ(record(found[0].job_id).state, jobs::JobState::kPoisoned);
}

TEST_F(WorkersPurge, ThoseOfAQueueOfOnesOwnAreSentBackAndForgotten) {
  const auto ids = put_poison("orders", 30);
  EXPECT_EQ(plan_of(R"({"kind":"purge","poisonQueue":"orders"})").keys, 30U);
  EXPECT_EQ(finish(R"({"kind":"redrive","poisonQueue":"orders","perSecond":10000,"poisonIds":[")" + ids[0] + R"(",")" +
                   ids[29] + R"("]})")
                .done,
            2U);
  EXPECT_EQ(messages("orders"), 2U);
  EXPECT_EQ(finish(R"({"kind":"redrive","poisonQueue":"orders","perSecond":10000,"limit":3})").done, 3U);
  EXPECT_EQ(messages("orders"), 5U);
  const auto job = submit(R"({"kind":"purge","poisonQueue":"orders"})");
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  put_poison("orders", 1);
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 25U);
  EXPECT_EQ(messages("orders-poison"), 1U) << "it came later";
  EXPECT_EQ(finish(R"({"kind":"purge","poisonQueue":"nobody"})").done, 0U);
}

/// Its call is on the way while the message is sent back and fails again.
TEST_F(WorkersPurge, WhatFailsAnewAfterItWasLookedAtStaysWhereItIs) {
  poison_some(2, "Missing");
  const auto purge = submit(R"({"kind":"purge","poisonKind":"delete"})");
  auto message = receive();
  ASSERT_TRUE(message.has_value());
  LimitGate gate(tables_, *clock_, options_.lease);
  JobRunner runner(options_, services(), gate);
  std::string anew;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.remove" || !anew.empty()) co_return Result<void>{};
    anew = CO_TRY(co_await poison_.list(10, {})).records.at(0).message_id;
    CO_TRY(co_await poison_.redrive(anew, std::nullopt, "me"));
    auto again = CO_TRY(co_await queues_.receive("tidemark-jobs", std::chrono::seconds(30), Duration::zero()));
    const auto report = co_await runner.run(std::move(*again), clock_->now(), std::make_shared<const bool>(false),
                                            std::string(jobs::kJobQueue));
    EXPECT_EQ(report.end, RunEnd::kPoisoned);
    co_return Result<void>{};
  };
  EXPECT_EQ(work(std::move(*message)).end, RunEnd::kSucceeded);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(purge.id).done, 1U);
  const auto left = run(poison_.list(10, {})).value().records;
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0].message_id, anew);
}

TEST_F(WorkersPurge, StopsInTheMiddleWhenItIsCancelled) {
  put_poison("orders", 400);
  const auto job = submit(R"({"kind":"purge","poisonQueue":"orders","perSecond":200})");
  int removed = 0;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "queue.remove" && ++removed == 25) CO_TRY(co_await jobs_.cancel(job.id));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
  EXPECT_EQ(record(job.id).done, 400 - messages("orders-poison"));
  EXPECT_GE(record(job.id).done, 25U);
  EXPECT_LT(record(job.id).done, 300U) << "it hears of it within half a second";
}

TEST_F(WorkersPurge, AJobThatFailsIsNoPoison) {
  put_poison("orders", 1);
  const auto job = submit(R"({"kind":"purge","poisonQueue":"orders","maxAttempts":1})");
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method == "queue.remove") co_return fail(ErrorCode::kCorruption);
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kDropped);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(job.id).state, jobs::JobState::kCancelled);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 0U);
}

TEST_F(WorkersRedrive, AFailedCanaryKeepsTheRest) {
  poison_some(5, "Missing");
  const auto job = submit(R"({"kind":"redrive","canary":2,"perSecond":10000})");
  EXPECT_EQ(work_until_end(job.id), RunEnd::kDropped);
  EXPECT_NE(record(job.id).error.find("canary"), std::string::npos) << record(job.id).error;
  EXPECT_EQ(record(job.id).done, 2U);
  EXPECT_EQ(record(job.id).history.back().code, "CanaryFailed");
  EXPECT_EQ(messages("tidemark-jobs-poison"), 5U);  // they do not include the redrive itself
  EXPECT_EQ(messages("tidemark-jobs"), 0U);
}

TEST_F(WorkersRedrive, ACanaryThatSomebodyDeletedIsNotWaitedFor) {
  poison_some(3, "Missing");
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  const auto job = submit(R"({"kind":"redrive","canary":1,"perSecond":10000})");
  bool first = true;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.redrive" || !std::exchange(first, false)) co_return Result<void>{};
    const auto page = CO_TRY(co_await poison_.list(1, {}));
    CO_TRY(co_await poison_.remove(page.records.at(0).message_id));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_until_end(job.id), RunEnd::kSucceeded);
  queue_link_.before = nullptr;
  EXPECT_EQ(record(job.id).done, 2U);
}

TEST_F(WorkersRedrive, APassedCanaryLetsTheRestGo) {
  poison_some(5, "Missing");
  ASSERT_TRUE(run(tables_.create_table("Missing")).has_value());
  const auto job = submit(R"({"kind":"redrive","canary":2,"perSecond":10000})");
  EXPECT_EQ(work_until_end(job.id), RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).done, 5U);
  EXPECT_EQ(messages("tidemark-jobs-poison"), 0U);
}

}  // namespace
}  // namespace tidemark::workers
