#include <gtest/gtest.h>

#include "tests/support/seeded_random.h"
#include "workers/runtime/retry_policy.h"

namespace tidemark::workers {
namespace {

using std::chrono::seconds;

TEST(RetryPolicy, BackoffDoublesToItsCapWithFullJitter) {
  RetryPolicy policy;
  auto random = make_seeded_random(1);
  for (std::uint32_t failures : {1U, 2U, 3U, 10U, 4'000'000'000U}) {
    const Duration bound = failures < 7 ? seconds(1LL << (failures - 1)) : seconds(60);
    Duration least = bound, greatest{};
    for (int i = 0; i < 2000; ++i) {
      const auto delay = policy.backoff(failures, *random);
      ASSERT_GE(delay, Duration::zero());
      ASSERT_LE(delay, bound);
      least = std::min(least, delay);
      greatest = std::max(greatest, delay);
    }
    EXPECT_LT(least, bound / 10);
    EXPECT_GT(greatest, bound * 9 / 10);
  }
}

TEST(RetryPolicy, PermanentIsPoisonAtOnce) {
  auto random = make_seeded_random(1);
  const auto decision = RetryPolicy().decide(make_error(ErrorCode::kTableNotFound), 1, 0, 5, *random);
  EXPECT_EQ(decision.treatment, Treatment::kPoison);
}

TEST(RetryPolicy, TransientIsPoisonAtTheLimit) {
  auto random = make_seeded_random(1);
  const auto error = make_error(ErrorCode::kOperationTimedOut);
  EXPECT_EQ(RetryPolicy().decide(error, 4, 0, 5, *random).treatment, Treatment::kRetry);
  EXPECT_EQ(RetryPolicy().decide(error, 5, 0, 5, *random).treatment, Treatment::kPoison);
}

TEST(RetryPolicy, ThrottledFollowsTheHintAndIsNotCounted) {
  auto random = make_seeded_random(1);
  auto error = make_error(ErrorCode::kServerBusy);
  error.fields.emplace_back("retryAfterMs", "1500");
  const auto decision = RetryPolicy().decide(error, 99, 0, 5, *random);
  EXPECT_EQ(decision.treatment, Treatment::kRetry);
  EXPECT_EQ(decision.delay, Duration(std::chrono::milliseconds(1500)));
  EXPECT_FALSE(decision.count_attempt);
}

TEST(RetryPolicy, TheTroubleOfAStoreIsNotTheMessagesFault) {
  auto random = make_seeded_random(1);
  for (auto code : {ErrorCode::kUnavailable, ErrorCode::kStorageFailure, ErrorCode::kInsufficientStorage,
                    ErrorCode::kInternalError}) {
    const auto decision = RetryPolicy().decide(make_error(code), 5, 3, 5, *random);
    EXPECT_EQ(decision.treatment, Treatment::kRetry) << azure_name_of(code);
    EXPECT_FALSE(decision.count_attempt) << azure_name_of(code);
  }
}

TEST(RetryPolicy, AnOvertakenWorkerDoesNothing) {
  auto random = make_seeded_random(1);
  for (auto code : {ErrorCode::kFenced, ErrorCode::kLeaseLost}) {
    EXPECT_EQ(RetryPolicy().decide(make_error(code), 5, 0, 5, *random).treatment, Treatment::kAbandon);
  }
}

}  // namespace
}  // namespace tidemark::workers
