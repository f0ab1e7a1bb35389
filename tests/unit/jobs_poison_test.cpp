#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "jobs/poison/poison.h"

namespace tidemark::jobs {
namespace {

TEST(PoisonRecord, SurvivesTheAnnotation) {
  PoisonRecord record;
  record.job_id = "7fffffffffffffff-0123abcd";
  record.reason = "why";
  record.fingerprint = "f";
  record.queue = "tidemark-jobs";
  record.redrives = 2;
  record.moved_at = Time(Ticks(10'000'000));
  record.attempts.push_back({1, "w1", Time(Ticks(20'000'000)), 15, "failed", "transient", "Unavailable", "gone"});
  queue_service::Message message;
  message.id = "m";
  message.text = R"({"kind":"index","source":"Aaa","property":"P","destination":"Bbb"})";
  message.annotation = poison_annotation(record);
  const auto read = poison_record_of(message);
  EXPECT_EQ(read.message_id, "m");
  EXPECT_EQ(read.job_id, record.job_id);
  EXPECT_EQ(read.kind, "index");
  EXPECT_EQ(read.reason, "why");
  EXPECT_EQ(read.redrives, 2U);
  EXPECT_EQ(read.moved_at, record.moved_at);
  ASSERT_EQ(read.attempts.size(), 1U);
  EXPECT_EQ(read.attempts[0].worker, "w1");
  EXPECT_EQ(read.attempts[0].started_at, Time(Ticks(20'000'000)));
  EXPECT_EQ(read.attempts[0].duration_ms, 15);
  EXPECT_EQ(read.attempts[0].code, "Unavailable");
}

TEST(PoisonRecord, OfAMessagePutThereByHand) {
  queue_service::Message message;
  message.text = "hello";
  message.annotation = "[1,";
  const auto read = poison_record_of(message);
  EXPECT_EQ(read.kind, "unknown");
  EXPECT_EQ(read.body, "hello");
  EXPECT_TRUE(read.attempts.empty());
}

TEST(History, MarksComeOnceAndThoseOfEarlierRoundsStayAway) {
  std::vector<Attempt> story{{1, "w", Time(Ticks(1)), 1, "failed", "permanent", "C", "m"}};
  add_mark(story, kEdited, Time(Ticks(2)), "Eve");
  add_mark(story, kSentBack, Time(Ticks(2)), "Ann");
  std::vector<Attempt> history{story.front()};
  add_marks(history, story);
  add_marks(history, story);
  ASSERT_EQ(history.size(), 3U);
  EXPECT_EQ(history[2].by, "Ann");
  EXPECT_EQ(round_after(history), 2U);
  std::vector<Attempt> later{{1, "w", Time(Ticks(3)), 1, "failed", "permanent", "C", "m", 2}};
  add_marks(later, story);
  EXPECT_EQ(later.size(), 1U);
}

TEST(PoisonRecord, IsBounded) {
  PoisonRecord record;
  for (std::uint32_t i = 0; i < 500; ++i)
    record.attempts.push_back({i, "w", {}, 1, "failed", "transient", "C", std::string(5000, 'x')});
  queue_service::Message message;
  message.annotation = poison_annotation(record);
  EXPECT_LT(message.annotation.size(), 110'000U);
  EXPECT_EQ(poison_record_of(message).attempts.back().number, 499U);
}

TEST(ErrorFingerprint, IgnoresWhatDiffersBetweenOccurrences) {
  EXPECT_EQ(error_fingerprint("archive", "X", "row 17 of 'abc'"), error_fingerprint("archive", "X", "row 4 of 'd'"));
  EXPECT_NE(error_fingerprint("archive", "X", "row 17"), error_fingerprint("index", "X", "row 17"));
  EXPECT_NE(error_fingerprint("archive", "X", "row 17"), error_fingerprint("archive", "Y", "row 17"));
  EXPECT_NE(error_fingerprint("archive", "X", "table 'A'", {"A"}),
            error_fingerprint("archive", "X", "table 'B'", {"B"}));
  EXPECT_EQ(error_fingerprint("archive", "X", "table 'A'", {"Abc"}),
            error_fingerprint("archive", "X", "table 'a'", {"abc"}));
}

}  // namespace
}  // namespace tidemark::jobs
