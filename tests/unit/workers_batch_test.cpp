// Small jobs that are carried out together.
#include <map>

#include "workers/runtime/job_batch.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

class WorkersBatch : public WorkersFixture {
 protected:
  void SetUp() override {
    WorkersFixture::SetUp();
    ASSERT_TRUE(run(tables_.create_table("Archive")).has_value());
  }
  static std::string archive(const std::string& row, const std::string& more = "") {
    return R"({"kind":"archive","source":"Source","destination":"Archive","partitionKey":"p","rowKey":")" + row + "\"" +
           more + "}";
  }
  static std::string remove(const std::string& row) {
    return R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":")" + row + "\"}";
  }
  std::vector<queue_service::Message> receive_all() {
    auto messages = run(queues_.receive_some(std::string(jobs::kJobQueue), std::chrono::seconds(30), 32));
    EXPECT_TRUE(messages.has_value());
    return messages ? std::move(*messages) : std::vector<queue_service::Message>{};
  }
  BatchOutcome run_batch(const std::vector<queue_service::Message>& messages, Duration age = {}) {
    std::vector<SmallJob> small;
    for (const auto& message : messages) {
      auto job = small_job(message, jobs::kJobQueue, false);
      EXPECT_TRUE(job.has_value()) << message.text;
      if (job) small.push_back(std::move(*job));
    }
    LimitGate gate(tables_, *clock_, options_.lease);
    JobBatch batch(options_, JobServices{tables_, queues_, jobs_, *clock_, *random_}, gate);
    return run(batch.run(std::string(jobs::kJobQueue), std::move(small), clock_->now() - age));
  }
  std::map<std::string, int> count_calls() {
    auto counts = std::exchange(calls_, {});
    return counts;
  }
  void watch_calls() {
    auto note = [this](std::string method) -> Task<Result<void>> {
      ++calls_[method];
      co_return Result<void>{};
    };
    table_link_.before = note;
    queue_link_.before = note;
  }
  std::map<std::string, int> calls_;
};

TEST_F(WorkersBatch, EndsItsJobsInThreeCalls) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    put("p", std::to_string(i), i);
    ids.push_back(submit(archive(std::to_string(i))).id);
  }
  const auto messages = receive_all();
  watch_calls();
  const auto outcome = run_batch(messages);
  const auto calls = count_calls();
  EXPECT_EQ(calls, (std::map<std::string, int>{
                       {"table.query", 1}, {"table.get_all", 1}, {"table.move_all", 1}, {"queue.complete_all", 1}}));
  EXPECT_EQ(outcome.ended.size(), 5U);
  EXPECT_TRUE(outcome.left.empty());
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(all("Archive").size(), 5U);
  EXPECT_EQ(messages_left(), 0U);
  for (const auto& id : ids) {
    const auto job = record(id);
    EXPECT_EQ(job.state, jobs::JobState::kSucceeded);
    EXPECT_EQ(job.done, 1U);
    EXPECT_EQ(job.epoch, 1U);
    EXPECT_EQ(job.attempts, 1U);
    EXPECT_EQ(job.worker, "w");
    EXPECT_TRUE(job.started_at && job.finished_at && *job.started_at <= *job.finished_at);
    ASSERT_EQ(job.history.size(), 1U);
    EXPECT_EQ(job.history[0].outcome, "succeeded");
    EXPECT_TRUE(run(tables_.read_operation(id))->closed);
  }
}

TEST_F(WorkersBatch, DeletesTooInThreeCalls) {
  std::vector<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    put("p", std::to_string(i), i);
    ids.push_back(submit(remove(std::to_string(i))).id);
  }
  submit(remove("nobody"));
  const auto messages = receive_all();
  watch_calls();
  const auto outcome = run_batch(messages);
  EXPECT_EQ(count_calls(),
            (std::map<std::string, int>{
                {"table.query", 1}, {"table.get_all", 1}, {"table.move_all", 1}, {"queue.complete_all", 1}}));
  EXPECT_EQ(outcome.ended.size(), 5U);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_TRUE(all("Archive").empty());
  for (const auto& id : ids) {
    EXPECT_EQ(record(id).state, jobs::JobState::kSucceeded);
    EXPECT_EQ(record(id).done, 1U);
  }
  // A missing entity is an outcome, which the ordinary way finds.
  ASSERT_EQ(outcome.left.size(), 1U);
  EXPECT_EQ(work(outcome.left.front()).end, RunEnd::kSucceeded);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersBatch, WhatIsNotPlainIsLeftAsItWas) {
  for (const auto* row : {"fine", "cancelled", "blocked", "elsewhere"}) put("p", row, 1);
  put("p", "blocked", 2, "Archive");
  const auto fine = submit(archive("fine")).id;
  const auto cancelled = submit(archive("cancelled")).id;
  const auto blocked = submit(archive("blocked")).id;
  const auto missing = submit(archive("missing")).id;
  const auto messages = receive_all();
  ASSERT_TRUE(run(jobs_.cancel(cancelled)).has_value());
  auto outcome = run_batch(messages);
  ASSERT_EQ(outcome.ended.size(), 1U);
  EXPECT_EQ(outcome.ended[0].job_id, fine);
  ASSERT_EQ(outcome.left.size(), 3U);
  EXPECT_EQ(all("Source").size(), 3U);
  EXPECT_EQ(record(blocked).state, jobs::JobState::kQueued);
  // The ordinary way brings each to its end.
  for (auto& message : outcome.left) work(std::move(message));
  EXPECT_EQ(record(cancelled).state, jobs::JobState::kCancelled);
  EXPECT_EQ(record(blocked).skipped, 1U);
  EXPECT_NE(record(missing).skips.find("not found"), std::string::npos);
  EXPECT_EQ(all("Source").size(), 3U);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersBatch, OneEndPerJobWhoeverHasItsMessage) {
  put("p", "r", 1);
  const auto job = submit(archive("r"));
  // The submission was repeated after it had put its message.
  const auto own = receive();
  ASSERT_TRUE(own.has_value());
  ASSERT_TRUE(run(queues_.put(std::string(jobs::kJobQueue), own->text, Duration::zero())).has_value());
  auto twin = receive();
  ASSERT_TRUE(twin.has_value());
  auto outcome = run_batch({*twin, *own});
  ASSERT_EQ(outcome.ended.size(), 1U);
  ASSERT_EQ(outcome.left.size(), 1U);
  EXPECT_EQ(work(std::move(outcome.left[0])).end, RunEnd::kDropped);
  EXPECT_EQ(record(job.id).message_id, job.message_id);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersBatch, MakesTheRecordOfAMessageWrittenByHand) {
  put("p", "r", 1);
  ASSERT_TRUE(run(queues_.put(std::string(jobs::kJobQueue), archive("r"), Duration::zero())).has_value());
  const auto outcome = run_batch(receive_all());
  ASSERT_EQ(outcome.ended.size(), 1U);
  const auto job = record(outcome.ended[0].job_id);
  EXPECT_EQ(job.state, jobs::JobState::kSucceeded);
  EXPECT_EQ(job.kind, "archive");
  EXPECT_NE(job.spec.find("Archive"), std::string::npos);
}

TEST_F(WorkersBatch, TakesOnlyJobsThatAskForNothingElseAndAreNew) {
  put("p", "r", 1);
  for (const auto* more : {R"(,"maxAffected":1)", R"(,"maxPerSecond":5)", R"(,"notBefore":"2020-01-01T00:00:00Z")"}) {
    submit(archive("r", more));
  }
  submit(R"({"kind":"archive","source":"Source","destination":"Archive","filter":""})");
  submit(R"({"kind":"delete","source":"Source","filter":"RowKey eq 'r'"})");
  submit(R"({"kind":"copy","source":"Source","destination":"Archive","partitionKey":"p","rowKey":"r"})");
  for (const auto& message : receive_all())
    EXPECT_FALSE(small_job(message, jobs::kJobQueue, false).has_value()) << message.text;
  submit(archive("r"));
  auto first = receive();
  ASSERT_TRUE(first && small_job(*first, jobs::kJobQueue, false));
  ASSERT_TRUE(run(queues_.release({std::string(jobs::kJobQueue), first->id, first->epoch}, Duration::zero(), "", false))
                  .has_value());
  auto second = receive();
  ASSERT_TRUE(second.has_value());
  EXPECT_FALSE(small_job(*second, jobs::kJobQueue, false).has_value());
}

TEST_F(WorkersBatch, LeavesWhatItHasNoMoreTimeFor) {
  put("p", "r", 1);
  submit(archive("r"));
  const auto outcome = run_batch(receive_all(), options_.lease);
  EXPECT_EQ(outcome.left.size(), 1U);
  EXPECT_EQ(all("Source").size(), 1U);
}

TEST_F(WorkersBatch, LeavesWhatIsPausedOrLimited) {
  jobs::Limits limits(tables_, *clock_);
  put("p", "r", 1);
  submit(archive("r"));
  const auto messages = receive_all();
  const auto left_under = [&](const jobs::LimitTarget& target, const jobs::LimitChange& change) {
    EXPECT_TRUE(run(limits.set(target, change)).has_value());
    const auto left = run_batch(messages).left.size();
    EXPECT_TRUE(run(limits.set(target, {false, 0, 0})).has_value());
    return left;
  };
  EXPECT_EQ(left_under(jobs::kind_target("archive"), {true, {}, {}}), 1U);
  EXPECT_EQ(left_under(jobs::kind_target("archive"), {{}, 3, {}}), 1U);
  EXPECT_EQ(left_under(jobs::table_target("SOURCE"), {{}, {}, 1000}), 1U);
  EXPECT_EQ(left_under(jobs::partition_target("Archive", "p"), {{}, 1, {}}), 1U);
  EXPECT_EQ(all("Source").size(), 1U);
  // Limits of other jobs do not concern it.
  EXPECT_TRUE(run(limits.set(jobs::kind_target("copy"), {true, {}, {}})).has_value());
  EXPECT_EQ(left_under(jobs::partition_target("Archive", "q"), {{}, 1, {}}), 0U);
  EXPECT_TRUE(all("Source").empty());
}

/// The reply to each call is lost in turn, after the call took effect, and the ordinary way takes over the rest.
TEST_F(WorkersBatch, SurvivesALostReply) {
  for (const std::string lost : {"table.get_all", "table.move_all", "queue.complete_all"}) {
    for (int i = 0; i < 3; ++i) put("p", lost + std::to_string(i), i);
    std::vector<std::string> ids;
    for (int i = 0; i < 3; ++i) ids.push_back(submit(archive(lost + std::to_string(i))).id);
    auto messages = receive_all();
    ASSERT_EQ(messages.size(), 3U);
    table_link_.lose_reply_to = lost;
    queue_link_.lose_reply_to = lost;
    auto outcome = run_batch(messages);
    table_link_.lose_reply_to.clear();
    queue_link_.lose_reply_to.clear();
    for (auto& message : outcome.left) work(std::move(message));
    for (const auto& id : ids) {
      EXPECT_EQ(record(id).state, jobs::JobState::kSucceeded) << lost;
      EXPECT_EQ(record(id).done, 1U) << lost;
      EXPECT_EQ(record(id).history.size(), 1U) << lost;
    }
    EXPECT_TRUE(all("Source").empty()) << lost;
    EXPECT_EQ(messages_left(), 0U) << lost;
  }
}

/// Transactions that each take one from an entity of their own, put a message, and add one to a common entity.
class WorkersBatchOfTransactions : public WorkersBatch {
 protected:
  void SetUp() override {
    WorkersBatch::SetUp();
    ASSERT_TRUE(run(queues_.ensure_queue("mail")).has_value());
    put("sum", "all", 0);
  }
  std::string submit_one() {
    const auto row = std::to_string(made_++);
    put("p", row, 10);
    return submit(
               R"({"kind":"transaction","guards":[{"as":"g","table":"Source","partitionKey":"p","rowKey":")" + row +
               R"("}],"steps":[{"merge":{"of":"g","add":{"Number":-1}}},{"message":{"queue":"mail","text":"{job.id}"}},)"
               R"({"merge":{"table":"Source","partitionKey":"sum","rowKey":"all","add":{"Number":1}}}]})")
        .id;
  }
  std::vector<std::string> submit_some(int count) {
    std::vector<std::string> ids;
    for (int i = 0; i < count; ++i) ids.push_back(submit_one());
    return ids;
  }
  std::int32_t number(const std::string& partition, const std::string& row) {
    const auto entity = run(tables_.get("Source", partition, row));
    return entity && *entity ? std::get<std::int32_t>(*(*entity)->find("Number")) : -1;
  }
  /// Checks that each of them has taken each of its steps once.
  void expect_done(const std::vector<std::string>& ids, const std::string& when = {}) {
    for (const auto& id : ids) {
      EXPECT_EQ(record(id).state, jobs::JobState::kSucceeded) << when << record(id).error;
      EXPECT_EQ(record(id).done, 3U) << when;
      EXPECT_TRUE(run(tables_.read_operation(id))->closed) << when;
      EXPECT_TRUE(run(queues_.open_operation(id, 1, 0))->closed) << when;
    }
    for (int i = 0; i < made_; ++i) EXPECT_EQ(number("p", std::to_string(i)), 9) << when;
    EXPECT_EQ(number("sum", "all"), made_) << when;
    EXPECT_EQ(messages("mail"), static_cast<std::uint64_t>(made_)) << when;
    EXPECT_EQ(messages_left(), 0U) << when;
  }
  void fail_calls_of(std::string method) {
    auto refuse = [method = std::move(method)](std::string called) -> Task<Result<void>> {
      if (called == method) co_return fail(ErrorCode::kServerBusy);
      co_return Result<void>{};
    };
    table_link_.before = refuse;
    queue_link_.before = refuse;
  }
  void let_all_pass() { table_link_.before = queue_link_.before = nullptr; }
  int made_ = 0;
};

TEST_F(WorkersBatchOfTransactions, MakeTheirCallsTogether) {
  const auto ids = submit_some(5);
  const auto messages = receive_all();
  watch_calls();
  const auto outcome = run_batch(messages);
  EXPECT_EQ(count_calls(), (std::map<std::string, int>{{"table.query", 1},
                                                       {"table.get_all", 1},
                                                       {"table.get.several", 1},
                                                       {"queue.figures.several", 1},
                                                       {"table.take_steps.several", 2},
                                                       {"queue.put.several", 1},
                                                       {"queue.close.several", 1},
                                                       {"queue.complete_all", 1}}));
  EXPECT_EQ(outcome.ended.size(), 5U);
  expect_done(ids);
}

TEST_F(WorkersBatchOfTransactions, OneThatIsDecidedGoesOnInTheSameDelivery) {
  for (const std::string failing : {"queue.put", "queue.close"}) {
    const auto ids = submit_some(1);
    auto messages = receive_all();
    fail_calls_of(failing);
    auto outcome = run_batch(messages);
    EXPECT_TRUE(run(jobs_.cancel(ids.front())).failed_with(ErrorCode::kTransactionDecided)) << failing;
    let_all_pass();
    ASSERT_EQ(outcome.left.size(), 1U) << failing;
    EXPECT_EQ(work(std::move(outcome.left.front())).end, RunEnd::kSucceeded) << failing;
    expect_done(ids, failing);
  }
}

TEST_F(WorkersBatchOfTransactions, SurviveALostReply) {
  for (const std::string lost : {"table.get.several", "queue.figures.several", "table.take_steps.several",
                                 "queue.put.several", "queue.close.several", "queue.complete_all"}) {
    const auto ids = submit_some(3);
    auto messages = receive_all();
    table_link_.lose_reply_to = queue_link_.lose_reply_to = lost;
    auto outcome = run_batch(messages);
    table_link_.lose_reply_to.clear();
    queue_link_.lose_reply_to.clear();
    for (auto& message : outcome.left) work(std::move(message));
    expect_done(ids, lost);
  }
}

TEST_F(WorkersBatchOfTransactions, CallsThatAreTooLargeTogetherAreMadeAlone) {
  const auto ids = submit_some(3);
  const auto messages = receive_all();
  auto refuse = [this](std::string method) -> Task<Result<void>> {
    ++calls_[method];
    if (method.ends_with(".several")) co_return fail(ErrorCode::kRequestBodyTooLarge);
    co_return Result<void>{};
  };
  table_link_.before = refuse;
  queue_link_.before = refuse;
  const auto outcome = run_batch(messages);
  EXPECT_EQ(calls_["table.take_steps"], 6);
  EXPECT_EQ(calls_["queue.put"], 3);
  EXPECT_EQ(outcome.ended.size(), 3U);
  let_all_pass();
  expect_done(ids);
}

TEST_F(WorkersBatchOfTransactions, NothingIsDecidedIfAQueueIsMissing) {
  const auto ids = submit_some(2);
  const auto messages = receive_all();
  ASSERT_TRUE(run(queues_.delete_queue("mail")).has_value());
  EXPECT_EQ(run_batch(messages).left.size(), 2U);
  for (const auto& id : ids) EXPECT_FALSE(run(tables_.read_operation(id))->decision.has_value());
  EXPECT_EQ(number("sum", "all"), 0);
}

}  // namespace
}  // namespace tidemark::workers
