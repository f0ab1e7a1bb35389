// The names that a shard is written to most: their shares in a sample, and how long these last.
#include "common/shards/hot_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tidemark::kv {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class HotNamesTest : public ::testing::Test {
 protected:
  void add(const std::string& name, int times, shards::HotNames::TimePoint at) {
    for (int i = 0; i < times; ++i) hot_.add({"acc", name, ""}, at);
  }

  shards::HotNames hot_;
  const shards::HotNames::TimePoint begun_ = std::chrono::steady_clock::now();
};

TEST_F(HotNamesTest, TellsRatesOfTheWindowThatHasBegun) {
  add("busy", 100, begun_ + 1s);
  add("calm", 10, begun_ + 2s);
  const auto most = hot_.most(8, begun_ + 10s);
  ASSERT_THAT(most, SizeIs(2));
  EXPECT_EQ(most[0].name.name, "busy");
  EXPECT_NEAR(most[0].per_s, 100.0 * shards::HotNames::kSampled / 10, 1);
  EXPECT_THAT(hot_.most(1, begun_ + 10s), SizeIs(1));
}

TEST_F(HotNamesTest, TooShortATimeTellsNothing) {
  add("busy", 100, begun_);
  EXPECT_THAT(hot_.most(8, begun_ + 500ms), IsEmpty());
}

TEST_F(HotNamesTest, AFullWindowIsToldUntilTheNextOne) {
  add("early", 200, begun_ + 1s);
  add("late", 1, begun_ + 21s);
  auto most = hot_.most(8, begun_ + 30s);
  ASSERT_THAT(most, SizeIs(1));
  EXPECT_EQ(most[0].name.name, "early");
  EXPECT_NEAR(most[0].per_s, 200.0 * shards::HotNames::kSampled / 21, 1);
  most = hot_.most(8, begun_ + 45s);
  ASSERT_THAT(most, SizeIs(1));
  EXPECT_EQ(most[0].name.name, "late");
}

TEST_F(HotNamesTest, WhatIsNotWrittenAnyMoreIsForgotten) {
  add("once", 200, begun_ + 1s);
  EXPECT_THAT(hot_.most(8, begun_ + 300s), IsEmpty());
}

TEST_F(HotNamesTest, ASampleFollowsNoPatternOfTheClient) {
  const auto names = static_cast<int>(shards::HotNames::kSampled);
  for (int i = 0; i < 40'000; ++i) hot_.wrote("acc", "queue-" + std::to_string(i % names));
  const auto most = hot_.most(100, begun_ + 10s);
  ASSERT_THAT(most, SizeIs(names));
  const auto wanted = 40'000.0 / names / 10;
  for (const auto& each : most) {
    EXPECT_GT(each.per_s, wanted / 2) << each.name.name;
    EXPECT_LT(each.per_s, wanted * 2) << each.name.name;
  }
}

}  // namespace
}  // namespace tidemark::kv
