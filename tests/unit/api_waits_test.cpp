#include <gtest/gtest.h>

#include "api/rest/render.h"
#include "api/rest/waits.h"

namespace tidemark::api {
namespace {

using jobs::JobRecord;
using jobs::JobState;
constexpr Time kNow{std::chrono::hours(500'000)};

JobRecord queued() {
  JobRecord job;
  job.kind = "delete";
  job.spec = R"({"kind":"delete","source":"Orders","filter":""})";
  return job;
}

Obstacles with_worker(std::int32_t running = 0) {
  Obstacles out;
  jobs::WorkerInfo worker;
  worker.concurrency = 2;
  worker.running = running;
  out.workers.push_back(worker);
  return out;
}

void limit(Obstacles& obstacles, const jobs::LimitTarget& target, std::uint32_t most, std::uint32_t held) {
  jobs::Limit set;
  set.target = target;
  set.max_running = most;
  obstacles.limits[jobs::limit_key(target)] = set;
  obstacles.held[jobs::limit_key(target)] = held;
}

TEST(Waits, WhatRunsOrIsAboutToDoesNotWait) {
  EXPECT_FALSE(wait_of(queued(), with_worker(), kNow));
  auto job = queued();
  job.state = JobState::kRunning;
  EXPECT_FALSE(wait_of(job, {}, kNow));
}

TEST(Waits, EachReason) {
  EXPECT_EQ(wait_of(queued(), {}, kNow)->reason, WaitReason::kNoWorker);
  EXPECT_EQ(wait_of(queued(), with_worker(2), kNow)->reason, WaitReason::kBusy);
  auto job = queued();
  job.not_before = kNow + std::chrono::seconds(1);
  EXPECT_EQ(wait_of(job, {}, kNow)->until, job.not_before);
  EXPECT_FALSE(wait_of(job, with_worker(), *job.not_before));
  job = queued();
  job.error = "ServerBusy: later";
  EXPECT_NE(wait_of(job, with_worker(), kNow)->text.find("ServerBusy"), std::string::npos);
  job.error = "ServerBusy: 0 of 2 canaries have ended.";
  EXPECT_EQ(wait_of(job, with_worker(), kNow)->text,
            "it goes on when its canaries have succeeded; 0 of 2 canaries have ended");

  auto paused = with_worker();
  paused.paused_queues = {"tidemark-jobs"};
  EXPECT_EQ(wait_of(queued(), paused, kNow)->reason, WaitReason::kQueuePaused);
  job = queued();
  job.spec = R"({"kind":"delete","source":"Orders","filter":"","priority":"low"})";
  EXPECT_FALSE(wait_of(job, paused, kNow)) << "it is in another queue";

  auto of_kind = with_worker();
  of_kind.limits["delete"].paused = true;
  EXPECT_EQ(wait_of(queued(), of_kind, kNow)->reason, WaitReason::kKindPaused);
}

TEST(Waits, OnlyWorkersOfItsQueueCount) {
  auto job = queued();
  job.queue = "heavy";
  const auto nobody = wait_of(job, with_worker(), kNow);
  ASSERT_TRUE(nobody);
  EXPECT_EQ(nobody->reason, WaitReason::kNoWorker);
  EXPECT_NE(nobody->text.find("tidemark-jobs-heavy"), std::string::npos) << nobody->text;
  auto two = with_worker();
  auto& heavy = two.workers.emplace_back();
  heavy.concurrency = heavy.running = 1;
  heavy.queues = "tidemark-jobs-heavy";
  EXPECT_EQ(wait_of(job, two, kNow)->reason, WaitReason::kBusy);
  EXPECT_FALSE(wait_of(queued(), two, kNow)) << "the other has room";
  two.workers.back().running = 0;
  EXPECT_FALSE(wait_of(job, two, kNow));
  two.paused_queues = {"tidemark-jobs-heavy"};
  EXPECT_EQ(wait_of(job, two, kNow)->reason, WaitReason::kQueuePaused);
  two.workers.back().queues = "tidemark-jobs-high";
  two.workers.erase(two.workers.begin());
  EXPECT_EQ(wait_of(queued(), two, kNow)->reason, WaitReason::kNoWorker) << "it takes another priority only";
}

TEST(Waits, ALimitCountsOnceItIsReached) {
  for (const auto& target : {jobs::kind_target("delete"), jobs::table_target("ORDERS")}) {
    auto room = with_worker();
    limit(room, target, 2, 1);
    EXPECT_FALSE(wait_of(queued(), room, kNow));
    auto full = with_worker();
    limit(full, target, 2, 2);
    EXPECT_EQ(wait_of(queued(), full, kNow)->reason, WaitReason::kLimit);
  }
  auto other = with_worker();
  limit(other, jobs::table_target("Others"), 1, 1);
  EXPECT_FALSE(wait_of(queued(), other, kNow));
}

TEST(JobAsJson, TheRateIsThatOfTheTimeInWhichItWorks) {
  auto job = queued();
  job.state = JobState::kRunning;
  job.started_at = kNow;
  job.claimed_at = kNow + std::chrono::hours(1);  // nobody worked on it until then
  job.done_before = 1000;
  job.done = 1500;
  job.total = 2000;
  job.version =
      std::chrono::duration_cast<Ticks>((*job.claimed_at + std::chrono::seconds(5)).time_since_epoch()).count();
  const auto progress = job_json(job)["progress"];
  EXPECT_DOUBLE_EQ(progress["perSecond"].get<double>(), 100);
  EXPECT_DOUBLE_EQ(progress["secondsLeft"].get<double>(), 5);
  job.done = 1000;
  EXPECT_FALSE(job_json(job)["progress"].contains("perSecond")) << "it has just begun again";
}

}  // namespace
}  // namespace tidemark::api
