#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>

#include "common/base/fail_points.h"

namespace tidemark {
namespace {

const FailStep kStep("test.step");

TEST(FailPoints, RegisterThemselves) {
  const auto names = fail_point_names();
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  for (const char* name : {"test.step.before", "test.step.after"}) {
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
  }
}

TEST(FailPoints, RefuseUnknownNamesAndCounts) {
  for (const char* text : {"nowhere", "test.step", "test.step.before:0", "test.step.before:x",
                           "test.step.before:", "test.step.before:1x", ":1"}) {
    EXPECT_TRUE(arm_fail_point(text).failed_with(ErrorCode::kConfigInvalid)) << text;
  }
  EXPECT_TRUE(arm_fail_point("").has_value());
  kStep.before.reach();  // the process lives on
}

TEST(FailPointsDeathTest, KillWhenReachedForTheNthTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!arm_fail_point("test.step.after:2")) std::exit(3);
        kStep.before.reach();
        kStep.after.reach();
        std::fprintf(stderr, "once\n");
        kStep.after.reach();
        std::exit(4);
      },
      ::testing::KilledBySignal(SIGKILL), "once");
}

}  // namespace
}  // namespace tidemark
