// Jobs that follow one another.
#include "jobs/store/endings.h"
#include "workers/runtime/job_batch.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kTwo =
    R"({"kind":"archive","source":"Source","destination":"Former","filter":"",
        "then":{"kind":"delete","source":"Former","filter":""}})";

class WorkersThen : public WorkersFixture {
 protected:
  /// A page may end early where the machine is busy.
  std::vector<jobs::JobRecord> records() {
    std::vector<jobs::JobRecord> all;
    std::string continuation;
    do {
      auto page = run(jobs_.list(100, continuation)).value();
      std::ranges::move(page.jobs, std::back_inserter(all));
      continuation = page.continuation;
    } while (!continuation.empty());
    return all;
  }
  void finish_all() {
    while (messages_left() > 0) work_next();
  }
  jobs::JobRecord following(const std::string& id) { return record(jobs::following_job_id(record(id))); }
};

TEST_F(WorkersThen, ASuccessStartsTheNextAndEachNamesTheOther) {
  put("p", "r", 1);
  const auto first = submit(kTwo);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(all("Former").size(), 1U);
  EXPECT_EQ(messages_left(), 1U);
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_TRUE(all("Former").empty());
  const auto next = following(first.id);
  EXPECT_EQ(next.kind, "delete");
  EXPECT_EQ(next.done, 1U);
  EXPECT_EQ(jobs::parse_stored_spec(next.spec)->after, first.id);
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersThen, AChainGoesThroughItsPriorities) {
  put("p", "r", 1);
  submit(R"({"kind":"archive","source":"Source","destination":"Former","partitionKey":"p","rowKey":"r",
             "then":{"kind":"copy","source":"Former","destination":"Copies","filter":"","priority":"high",
                     "then":{"kind":"delete","source":"Former","wholeTable":true,"priority":"low"}}})");
  for (const auto* queue : {"tidemark-jobs", "tidemark-jobs-high", "tidemark-jobs-low"}) {
    auto message = receive(queue);
    ASSERT_TRUE(message.has_value()) << queue;
    EXPECT_EQ(work(std::move(*message), queue).end, RunEnd::kSucceeded);
  }
  EXPECT_EQ(all("Copies").size(), 1U);
  EXPECT_FALSE(*run(tables_.table_exists("Former")));
  EXPECT_EQ(records().size(), 3U);
}

TEST_F(WorkersThen, AFailureStartsNothingUntilTheJobIsSentBackAndSucceeds) {
  const auto first = submit(
      R"({"kind":"delete","source":"Later","filter":"","then":{"kind":"delete","source":"Source","filter":""}})");
  put("p", "r", 1);
  EXPECT_EQ(work_next().end, RunEnd::kPoisoned);
  EXPECT_EQ(messages_left(), 0U);
  ASSERT_TRUE(run(tables_.create_table("Later")).has_value());
  ASSERT_TRUE(run(poison_.redrive(first.id, {}, "me")).has_value());
  finish_all();
  EXPECT_EQ(following(first.id).state, jobs::JobState::kSucceeded);
  EXPECT_TRUE(all("Source").empty());
  EXPECT_EQ(records().size(), 2U);
}

TEST_F(WorkersThen, ACancelledJobStartsNothing) {
  put("p", "r", 1);
  const auto first = submit(kTwo);
  ASSERT_TRUE(run(jobs_.cancel(first.id)).has_value());
  finish_all();
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(WorkersThen, ItStartsOnceWhateverIsLostAtTheEnd) {
  options_.lease = std::chrono::milliseconds(200);
  for (const bool answers : {false, true}) {
    for (int at = 1;; ++at) {
      put("p", "r", 1);
      const auto before = records().size();
      const auto first = submit(kTwo);
      int calls = 0;
      const auto lost = [&] { return ++calls == at; };
      for (auto* link : {&table_link_, &queue_link_}) {
        if (answers) link->lose_reply = lost;
        if (answers) continue;
        link->before = [&](std::string) -> Task<Result<void>> {
          if (lost()) co_return fail(ErrorCode::kUnavailable);
          co_return Result<void>{};
        };
      }
      auto message = run(queues_.receive("tidemark-jobs", std::chrono::milliseconds(200), std::chrono::seconds(2)));
      if (message && *message) work(std::move(**message));
      for (auto* link : {&table_link_, &queue_link_}) link->before = nullptr, link->lose_reply = nullptr;
      // The lease of a message that no worker gave back runs out.
      while (messages_left() > 0) {
        auto again = run(queues_.receive("tidemark-jobs", std::chrono::seconds(30), std::chrono::seconds(2)));
        ASSERT_TRUE(again.has_value());
        if (*again) work(std::move(**again));
      }
      EXPECT_EQ(records().size(), before + 2) << (answers ? "answer " : "request ") << at;
      EXPECT_EQ(following(first.id).state, jobs::JobState::kSucceeded);
      ASSERT_FALSE(HasFailure()) << (answers ? "answer " : "request ") << at;
      if (calls < at) break;
      ASSERT_LT(at, 100);
    }
  }
}

TEST_F(WorkersThen, ACallbackThatWasToldInOtherWordsDoesNotKeepItFromStarting) {
  auto spec = *jobs::parse_job_spec(kTwo);
  spec.on_end = jobs::CallbackEndpoint{"https://example.com/hook", {}};
  put("p", "r", 1);
  const auto first = run(jobs_.submit(spec))->job;
  // Right before the message goes, a callback of this end appears with other contents.
  bool told = false;
  queue_link_.before = [&](std::string method) -> Task<Result<void>> {
    if (method != "queue.finish" || std::exchange(told, true)) co_return Result<void>{};
    auto found = co_await jobs_.find(first.id);
    queue_service::PutRequest other;
    other.text = "{}";
    other.idempotency_key = jobs::ending_job_id(**found);
    CO_TRY(co_await queues_.put("tidemark-jobs", std::move(other)));
    co_return Result<void>{};
  };
  EXPECT_EQ(work_next().end, RunEnd::kSucceeded);
  EXPECT_EQ(messages_left(), 2U);
  finish_all();
  EXPECT_EQ(following(first.id).state, jobs::JobState::kSucceeded);
}

TEST_F(WorkersThen, SmallJobsThatAreFollowedAreNotCarriedOutTogether) {
  put("p", "r", 1);
  submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r",
             "then":{"kind":"delete","source":"Source","filter":""}})");
  EXPECT_FALSE(small_job(*receive(), jobs::kJobQueue, false).has_value());
}

}  // namespace
}  // namespace tidemark::workers
