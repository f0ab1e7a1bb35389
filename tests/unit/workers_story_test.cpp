#include <gtest/gtest.h>

#include "workers/runtime/message_story.h"

namespace tidemark::workers {
namespace {

TEST(MessageStory, SurvivesTheAnnotation) {
  MessageStory story;
  story.job_id = "j";
  story.checkpoint = {{"continuation", "c"}};
  story.attempts.push_back({3, "w", Time(Ticks(10'000'000)), 5, "failed", "transient", "C", "m"});
  story.stalls = 2;
  story.redrives = 1;
  const auto read = parse_story(story_text(story));
  EXPECT_EQ(read.job_id, "j");
  EXPECT_EQ(read.checkpoint, story.checkpoint);
  ASSERT_EQ(read.attempts.size(), 1U);
  EXPECT_EQ(read.attempts[0].number, 3U);
  EXPECT_EQ(read.stalls, 2U);
  EXPECT_EQ(read.redrives, 1U);
  EXPECT_FALSE(read.giving_up);
}

TEST(MessageStory, ToleratesAnything) {
  for (const char* text : {"", "{", "[]", "7", R"({"attempts":7,"checkpoint":[],"stalls":"x","givingUp":1})"}) {
    const auto story = parse_story(text);
    EXPECT_TRUE(story.attempts.empty());
    EXPECT_TRUE(story.checkpoint.is_null());
    EXPECT_FALSE(story.giving_up);
  }
}

TEST(MessageStory, TheNoteOfGivingUpIsAPoisonAnnotation) {
  jobs::PoisonRecord poison;
  poison.job_id = "j";
  poison.reason = "why";
  queue_service::Message message;
  message.annotation = giving_up_annotation(poison);
  EXPECT_TRUE(parse_story(message.annotation).giving_up);
  EXPECT_EQ(jobs::poison_record_of(message).reason, "why");
  EXPECT_FALSE(parse_story(jobs::poison_annotation(poison)).giving_up);
}

}  // namespace
}  // namespace tidemark::workers
