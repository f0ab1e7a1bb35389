#include <gtest/gtest.h>

#include "jobs/store/job_record.h"
#include "tests/support/seeded_random.h"

namespace tidemark::jobs {
namespace {

Time at(std::int64_t ticks) { return Time(Ticks(ticks)); }

TEST(JobRecord, SurvivesTheTable) {
  JobRecord record;
  record.id = "7fffffffffffffff-0123abcd";
  record.state = JobState::kRunning;
  record.kind = "archive";
  record.spec = "{}";
  record.message_id = "m";
  record.epoch = 7;
  record.attempts = 2;
  record.done = 10;
  record.skipped = 1;
  record.total = 12;
  record.phase = "archiving";
  record.error = "e";
  record.submitted_at = at(100);
  record.started_at = at(200);
  record.worker = "w";
  table_store::Entity entity{std::string(kJobPartition), record.id, 99, {}, record_properties(record)};
  auto read = record_from_entity(entity);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->state, record.state);
  EXPECT_EQ(read->epoch, 7U);
  EXPECT_EQ(read->attempts, 2U);
  EXPECT_EQ(read->total, 12U);
  EXPECT_EQ(read->started_at, at(200));
  EXPECT_FALSE(read->finished_at.has_value());
  EXPECT_EQ(read->version, 99);
  EXPECT_EQ(read->error, "e");
}

TEST(JobRecord, RefusesAForeignRow) {
  table_store::Entity entity{"jobs", "x", 1, {}, {{"State", std::string("asleep")}}};
  EXPECT_TRUE(record_from_entity(entity).failed_with(ErrorCode::kCorruption));
  entity.properties = {{"State", std::string("queued")}, {"Epoch", std::string("1")}};
  EXPECT_TRUE(record_from_entity(entity).failed_with(ErrorCode::kCorruption));
}

TEST(JobId, SortsNewestFirst) {
  auto random = make_seeded_random(1);
  const auto older = new_job_id(at(1'000), *random);
  const auto newer = new_job_id(at(1'001), *random);
  EXPECT_LT(newer, older);
  EXPECT_TRUE(is_job_id(older));
  EXPECT_TRUE(is_job_id(job_id_of_message(at(5), "a")));
  EXPECT_EQ(job_id_of_message(at(5), "a"), job_id_of_message(at(5), "a"));
  EXPECT_NE(job_id_of_message(at(5), "a"), job_id_of_message(at(5), "b"));
  EXPECT_FALSE(is_job_id("x"));
  EXPECT_FALSE(is_job_id("7FFFFFFFFFFFFFFF-0123abcd"));
}

TEST(JobTransitions, EndsAreFinal) {
  for (auto end : {JobState::kSucceeded, JobState::kCancelled}) {
    for (auto to : {JobState::kQueued, JobState::kRunning, JobState::kSucceeded, JobState::kPoisoned}) {
      EXPECT_FALSE(transition_allowed(end, 1, to, 9));
      EXPECT_FALSE(transition_allowed(end, 1, to, 0));
    }
  }
}

TEST(JobTransitions, OnlyALaterDeliveryOrAPersonTakesAPoisonedJobUp) {
  EXPECT_FALSE(transition_allowed(JobState::kPoisoned, 5, JobState::kRunning, 5));
  EXPECT_TRUE(transition_allowed(JobState::kPoisoned, 5, JobState::kRunning, 6));
  EXPECT_TRUE(transition_allowed(JobState::kPoisoned, 5, JobState::kQueued, 0));
  EXPECT_FALSE(transition_allowed(JobState::kPoisoned, 5, JobState::kSucceeded, 6));
}

TEST(JobTransitions, AStaleDeliveryChangesNothing) {
  for (auto to : {JobState::kQueued, JobState::kRunning, JobState::kSucceeded, JobState::kPoisoned}) {
    EXPECT_FALSE(transition_allowed(JobState::kRunning, 3, to, 2));
    EXPECT_TRUE(transition_allowed(JobState::kRunning, 3, to, 3));
  }
  EXPECT_TRUE(transition_allowed(JobState::kQueued, 3, JobState::kCancelled, 0));
  EXPECT_FALSE(transition_allowed(JobState::kRunning, 3, JobState::kCancelled, 2));
  EXPECT_FALSE(transition_allowed(JobState::kQueued, 3, JobState::kCancelled, 3));
}

}  // namespace
}  // namespace tidemark::jobs
