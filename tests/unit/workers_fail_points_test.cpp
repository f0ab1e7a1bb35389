#include <gtest/gtest.h>

#include "workers/runtime/fail_points.h"

namespace tidemark::workers {
namespace {

TEST(FailPoints, RefuseUnknownNamesAndCounts) {
  for (const char* text : {"nowhere", "claim.before:0", "claim.before:x", "claim.before:", ":1"}) {
    EXPECT_TRUE(arm_fail_point(text).failed_with(ErrorCode::kConfigInvalid)) << text;
  }
  EXPECT_TRUE(arm_fail_point("").has_value());
}

TEST(FailPointsDeathTest, KillWhenReachedForTheNthTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        if (!arm_fail_point("claim.after:2")) std::exit(3);
        fail_point(FailPoint::kClaimBefore);
        fail_point(FailPoint::kClaimAfter);
        std::fprintf(stderr, "once\n");
        fail_point(FailPoint::kClaimAfter);
        std::exit(4);
      },
      ::testing::KilledBySignal(SIGKILL), "once");
}

}  // namespace
}  // namespace tidemark::workers
