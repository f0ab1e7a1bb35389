// Queues that users name, so that some jobs have workers of their own.
#include <array>

#include "jobs/limits/limits.h"
#include "jobs/store/endings.h"
#include "jobs/store/worker_list.h"
#include "workers/runtime/job_batch.h"
#include "workers/runtime/lanes.h"
#include "workers/upkeep/collector.h"
#include "workers_fixture.h"

namespace tidemark::workers {
namespace {

constexpr const char* kHeavy = "tidemark-jobs-heavy";
constexpr const char* kOnHeavy = R"({"kind":"delete","source":"Source","filter":"","queue":"heavy"})";
constexpr const char* kPoisoned = R"({"kind":"delete","source":"Later","filter":"","queue":"heavy"})";

class WorkersQueues : public WorkersFixture {
 protected:
  RunEnd work_on(const std::string& queue) {
    auto message = receive(queue);
    EXPECT_TRUE(message.has_value()) << queue;
    return message ? work(std::move(*message), queue).end : RunEnd::kAbandoned;
  }
  void give_kind_a_queue(std::string_view kind, std::string queue) {
    jobs::Limits limits(tables_, *clock_);
    jobs::LimitChange change;
    change.queue = std::move(queue);
    ASSERT_TRUE(run(limits.set(jobs::kind_target(kind), change)).has_value());
  }
  bool is_kept(const std::string& id) { return run(jobs_.find(id))->has_value(); }
};

TEST_F(WorkersQueues, LanesShareByWeightAndNoneStarves) {
  LaneChoice choice(default_lanes());
  std::array<int, 3> taken{};
  for (int i = 0; i < 100; ++i) ++taken.at(*choice.next());
  EXPECT_EQ(taken, (std::array<int, 3>{60, 30, 10}));
  choice.set_filled(0, false);
  taken = {};
  for (int i = 0; i < 100; ++i) ++taken.at(*choice.next());
  EXPECT_EQ(taken, (std::array<int, 3>{0, 75, 25}));
  choice.set_filled(1, false);
  choice.set_filled(2, false);
  EXPECT_FALSE(choice.next());
}

TEST_F(WorkersQueues, LanesShareByWeightWhenManyAreTakenAtOnce) {
  LaneChoice choice(default_lanes());
  std::array<std::size_t, 3> taken{};
  for (std::size_t slots = 16; taken[0] + taken[1] + taken[2] < 10000; slots = slots % 31 + 1) {
    const auto lane = *choice.next();
    const auto share = choice.share(lane, slots);
    ASSERT_GE(share, 1U);
    ASSERT_LE(share, slots);
    choice.took_more(lane, share - 1);
    taken.at(lane) += share;
  }
  EXPECT_NEAR(static_cast<double>(taken[0]), 6000, 60);
  EXPECT_NEAR(static_cast<double>(taken[1]), 3000, 60);
  EXPECT_NEAR(static_cast<double>(taken[2]), 1000, 60);
  choice.set_filled(0, false);
  choice.set_filled(2, false);
  EXPECT_EQ(choice.share(*choice.next(), 16), 16U);
}

TEST_F(WorkersQueues, AWorkerServesTheQueuesOfItsSettings) {
  const auto names = [](std::string_view priorities, std::string_view queues) {
    std::vector<std::string> out;
    const auto lanes = lanes_of(priorities, queues);
    EXPECT_TRUE(lanes) << lanes.error().message;
    for (const auto& lane : *lanes) out.push_back(lane.queue + "*" + std::to_string(lane.weight));
    return out;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(names("high,normal,low", "default"),
            (List{"tidemark-jobs-high*6", "tidemark-jobs*3", "tidemark-jobs-low*1"}));
  EXPECT_EQ(names("low, high", "default"), (List{"tidemark-jobs-high*6", "tidemark-jobs-low*1"}));
  EXPECT_EQ(names("high,normal,low", "heavy, at-2, heavy"), (List{"tidemark-jobs-heavy*3", "tidemark-jobs-at-2*3"}));
  EXPECT_EQ(names("high", "heavy,default"), (List{"tidemark-jobs-high*6", "tidemark-jobs-heavy*3"}));
}

TEST_F(WorkersQueues, SettingsThatMakeNoSenseAreRefused) {
  for (const auto* wrong : {"", "urgent", "high,,low", "HIGH"}) {
    EXPECT_TRUE(lanes_of(wrong, "default").failed_with(ErrorCode::kConfigInvalid)) << wrong;
  }
  for (const auto* wrong : {"", "Heavy", "a--b", "-a", "high", "poison", "x-poison", "default,,heavy"}) {
    EXPECT_TRUE(lanes_of(kAllPriorities, wrong).failed_with(ErrorCode::kConfigInvalid)) << wrong;
  }
  EXPECT_TRUE(lanes_of("high", "heavy").failed_with(ErrorCode::kConfigInvalid)) << "it has no priorities";
  EXPECT_TRUE(lanes_of(kAllPriorities, "q1,q2,q3,q4,q5,q6,q7,q8,q9,q10,q11,q12,q13,q14,q15,q16,q17")
                  .failed_with(ErrorCode::kConfigInvalid));
}

TEST_F(WorkersQueues, AJobWaitsInTheQueueThatItNamesAndTheRecordSaysSo) {
  put("p", "r", 1);
  const auto job = submit(kOnHeavy);
  EXPECT_EQ(job.queue, "heavy");
  EXPECT_EQ(messages(kHeavy), 1U);
  EXPECT_EQ(messages_left(), 0U);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).queue, "heavy");
  EXPECT_EQ(record(job.id).attempts, 1U);
  EXPECT_EQ(submit(R"({"kind":"delete","source":"Source","filter":"","queue":"default"})").queue, "default");
  const auto on_heavy = run(jobs_.list(10, "", "", "", "heavy"));
  ASSERT_EQ(on_heavy->jobs.size(), 1U);
  EXPECT_EQ(on_heavy->jobs[0].id, job.id);
  EXPECT_EQ(run(jobs_.list(10, "", "", "", "default"))->jobs.size(), 1U);
}

TEST_F(WorkersQueues, WhatLiesInAnotherQueueIsPassedOnUncounted) {
  put("p", "r", 1);
  ASSERT_TRUE(run(queues_.put("tidemark-jobs", kOnHeavy, Duration::zero())).has_value());
  auto message = receive();
  EXPECT_FALSE(small_job(*message, jobs::kJobQueue, false)) << "it does not belong here";
  const auto passed = work(std::move(*message));
  EXPECT_EQ(passed.end, RunEnd::kRetried);
  EXPECT_EQ(record(passed.job_id).queue, "heavy");
  EXPECT_EQ(record(passed.job_id).attempts, 0U);
  EXPECT_EQ(messages_left(), 0U);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(record(passed.job_id).attempts, 1U) << "the delivery that passed it on was none";
  EXPECT_TRUE(all("Source").empty());
}

TEST_F(WorkersQueues, AMessageInAnOwnQueueThatNamesNoneStaysThere) {
  ASSERT_TRUE(run(queues_.ensure_queue(kHeavy)).has_value());
  ASSERT_TRUE(
      run(queues_.put(kHeavy, R"({"kind":"delete","source":"Source","filter":""})", Duration::zero())).has_value());
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  const auto page = run(jobs_.list(10, ""));
  ASSERT_EQ(page->jobs.size(), 1U);
  EXPECT_EQ(page->jobs[0].queue, "heavy");
}

TEST_F(WorkersQueues, AKindMayHaveAQueueUnlessTheJobNamesOne) {
  give_kind_a_queue("delete", "heavy");
  put("p", "r", 1);
  const auto routed = submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r"})");
  EXPECT_EQ(routed.queue, "default");
  EXPECT_EQ(work_on("tidemark-jobs"), RunEnd::kRetried);
  EXPECT_EQ(record(routed.id).queue, "heavy");
  EXPECT_EQ(record(routed.id).state, jobs::JobState::kQueued);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(record(routed.id).attempts, 1U);

  submit(R"({"kind":"delete","source":"Source","filter":"","queue":"default"})");
  EXPECT_EQ(work_on("tidemark-jobs"), RunEnd::kSucceeded) << "it says that it stays";
  submit(R"({"kind":"delete","source":"Source","filter":"","queue":"light"})");
  EXPECT_EQ(work_on("tidemark-jobs-light"), RunEnd::kSucceeded);
  give_kind_a_queue("delete", "");
  submit(R"({"kind":"delete","source":"Source","filter":""})");
  EXPECT_EQ(work_on("tidemark-jobs"), RunEnd::kSucceeded);
}

TEST_F(WorkersQueues, ABatchLeavesJobsOfAKindWithAQueueAlone) {
  give_kind_a_queue("delete", "heavy");
  put("p", "r", 1);
  submit(R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r"})");
  auto small = small_job(*receive(), jobs::kJobQueue, false);
  ASSERT_TRUE(small);
  std::vector<SmallJob> jobs;
  jobs.push_back(std::move(*small));
  LimitGate gate(tables_, *clock_, options_.lease);
  JobBatch batch(options_, services(), gate);
  const auto outcome = run(batch.run(std::string(jobs::kJobQueue), std::move(jobs), clock_->now()));
  EXPECT_EQ(outcome.left.size(), 1U);
  EXPECT_EQ(all("Source").size(), 1U);
}

TEST_F(WorkersQueues, ABatchOfAnOwnQueueSaysSoInRecordsThatItMakes) {
  put("p", "r", 1);
  ASSERT_TRUE(run(queues_.ensure_queue(kHeavy)).has_value());
  const std::string text = R"({"kind":"delete","source":"Source","partitionKey":"p","rowKey":"r","queue":"heavy"})";
  ASSERT_TRUE(run(queues_.put(kHeavy, text, Duration::zero())).has_value());
  auto small = small_job(*receive(kHeavy), kHeavy, false);
  ASSERT_TRUE(small);
  const auto id = small->job_id;
  std::vector<SmallJob> jobs;
  jobs.push_back(std::move(*small));
  LimitGate gate(tables_, *clock_, options_.lease);
  JobBatch batch(options_, services(), gate);
  EXPECT_EQ(run(batch.run(kHeavy, std::move(jobs), clock_->now())).ended.size(), 1U);
  EXPECT_EQ(record(id).queue, "heavy");
  EXPECT_EQ(messages(kHeavy), 0U);
}

TEST_F(WorkersQueues, PoisonGoesBackToItsQueue) {
  const auto job = submit(kPoisoned);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kPoisoned);
  EXPECT_EQ(run(poison_.find(job.id))->queue, kHeavy);
  ASSERT_TRUE(run(tables_.create_table("Later")).has_value());
  ASSERT_TRUE(run(poison_.redrive(job.id, {}, "me")).has_value());
  EXPECT_EQ(messages(kHeavy), 1U);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
}

TEST_F(WorkersQueues, AnEditMayChangeTheQueueAndTheRecordNamesItFirst) {
  const auto job = submit(kPoisoned);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kPoisoned);
  ASSERT_TRUE(run(tables_.create_table("Later")).has_value());
  const auto edited = jobs::parse_job_spec(R"({"kind":"delete","source":"Later","filter":"","queue":"other"})");
  std::string said;
  queue_link_.before = [&](const std::string& method) -> Task<Result<void>> {
    if (method == "queue.redrive") said = (co_await jobs_.find(job.id)).value()->queue;
    co_return Result<void>{};
  };
  ASSERT_TRUE(run(poison_.redrive(job.id, *edited, "me")).has_value());
  queue_link_.before = nullptr;
  EXPECT_EQ(said, "other") << "a crash must not leave a message where nobody looks for it";
  EXPECT_EQ(messages("tidemark-jobs-other"), 1U);
  EXPECT_EQ(work_on("tidemark-jobs-other"), RunEnd::kSucceeded);
  EXPECT_EQ(record(job.id).queue, "other");
}

TEST_F(WorkersQueues, AnEditThatNamesNoQueueGoesBackWhereTheJobCameFrom) {
  const auto job = submit(kPoisoned);
  EXPECT_EQ(work_on(kHeavy), RunEnd::kPoisoned);
  const auto edited = jobs::parse_job_spec(R"({"kind":"delete","source":"Source","filter":""})");
  ASSERT_TRUE(run(poison_.redrive(job.id, *edited, "me")).has_value());
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
}

TEST_F(WorkersQueues, WhatFollowsAndWhatTellsOfTheEndStaysInTheQueue) {
  put("p", "r", 1);
  const auto job = submit(
      R"({"kind":"archive","source":"Source","destination":"Former","filter":"","queue":"heavy",
          "onEnd":{"url":"https://example.com/done"},
          "then":{"kind":"delete","source":"Former","filter":"",
                  "then":{"kind":"delete","source":"Former","filter":"","queue":"light",
                          "then":{"kind":"delete","source":"Former","wholeTable":true,"queue":"default"}}}})");
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(messages(kHeavy), 2U) << "the callback and the next";
  const auto next = jobs::following_job_id(record(job.id));
  auto first = receive(kHeavy), second = receive(kHeavy);
  auto& message = jobs::parse_job_message(first->text)->job_id == next ? first : second;
  EXPECT_EQ(work(std::move(*message), kHeavy).end, RunEnd::kSucceeded);
  EXPECT_EQ(work_on("tidemark-jobs-light"), RunEnd::kSucceeded);
  EXPECT_EQ(work_on("tidemark-jobs"), RunEnd::kSucceeded);
  EXPECT_FALSE(*run(tables_.table_exists("Former")));
}

TEST_F(WorkersQueues, AnUndoGoesWhereTheJobRan) {
  put("p", "r", 1);
  const auto job = submit(R"({"kind":"archive","source":"Source","destination":"Former","filter":"","queue":"heavy"})");
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(submit(R"({"kind":"undo","job":")" + job.id + R"("})").queue, "heavy");
  EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
  EXPECT_EQ(all("Source").size(), 1U);
  EXPECT_EQ(submit(R"({"kind":"undo","queue":"default","job":")" + job.id + R"("})").queue, "default");
  EXPECT_EQ(submit(R"({"kind":"undo","priority":"high","job":")" + job.id + R"("})").queue, "default");
}

TEST_F(WorkersQueues, CancellingTakesTheMessageOutOfItsQueue) {
  const auto job = submit(kOnHeavy);
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  EXPECT_EQ(messages(kHeavy), 0U);
  // On its way: the record says heavy, the message is still where it came from.
  const auto routed = submit(R"({"kind":"delete","source":"Source","filter":""})");
  ASSERT_TRUE(run(jobs_.place(record(routed.id), "heavy")).has_value());
  ASSERT_TRUE(run(jobs_.cancel(routed.id)).has_value());
  EXPECT_EQ(messages_left(), 0U);
}

TEST_F(WorkersQueues, ARecordOutlivesItsMessageInWhicheverQueue) {
  const auto job = submit(kOnHeavy);
  auto held = receive(kHeavy);
  ASSERT_TRUE(run(jobs_.cancel(job.id)).has_value());
  EXPECT_EQ(messages(kHeavy), 1U) << "a worker has it";
  jobs::Collector collector(tables_, queues_, *clock_, std::chrono::hours(24));
  ASSERT_TRUE(run(collector.collect(clock_->now() + std::chrono::hours(48))).has_value());
  EXPECT_TRUE(is_kept(job.id));
  EXPECT_EQ(work(std::move(*held), kHeavy).end, RunEnd::kDropped);
  ASSERT_TRUE(run(collector.collect(clock_->now() + std::chrono::hours(48))).has_value());
  EXPECT_FALSE(is_kept(job.id));
}

TEST_F(WorkersQueues, WhatIsPassedOnSurvivesALossAtEachCall) {
  for (auto* link : {&table_link_, &queue_link_}) {
    for (const bool answers : {false, true}) {
      for (int at = 1;; ++at) {
        ASSERT_LT(at, 30) << "more calls than expected";
        put("p", "r", 1);
        ASSERT_TRUE(run(queues_.put("tidemark-jobs", kOnHeavy, Duration::zero())).has_value());
        auto message = receive();
        int calls = 0;
        const auto lost = [&] { return ++calls == at; };
        if (answers) link->lose_reply = lost;
        if (!answers) {
          link->before = [&](const std::string&) -> Task<Result<void>> {
            if (lost()) co_return fail(ErrorCode::kUnavailable);
            co_return Result<void>{};
          };
        }
        auto passed = work(std::move(*message));
        link->before = nullptr;
        link->lose_reply = nullptr;
        // The message is in one of the two queues, and the job ends from there.
        for (int i = 0; i < 3 && messages_left() > 0; ++i) work_on("tidemark-jobs");
        EXPECT_EQ(messages_left(), 0U);
        EXPECT_EQ(work_on(kHeavy), RunEnd::kSucceeded);
        EXPECT_EQ(record(passed.job_id).state, jobs::JobState::kSucceeded);
        EXPECT_EQ(messages(kHeavy), 0U);
        ASSERT_FALSE(HasFailure()) << (answers ? "answer " : "request ") << at;
        if (calls < at) break;
      }
    }
  }
}

TEST(WorkerInfo, SaysWhichQueuesItServes) {
  jobs::WorkerInfo worker;
  EXPECT_TRUE(worker.serves("tidemark-jobs-low")) << "of an older version";
  EXPECT_FALSE(worker.serves(kHeavy));
  worker.queues = "tidemark-jobs-high,tidemark-jobs-heavy";
  EXPECT_TRUE(worker.serves(kHeavy));
  EXPECT_FALSE(worker.serves("tidemark-jobs"));
}

}  // namespace
}  // namespace tidemark::workers
