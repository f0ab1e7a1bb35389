// Whether stores answer, and since when, as the outcomes of calls tell.
#include <gtest/gtest.h>

#include "api/rest/store_watch.h"

namespace tidemark::api {
namespace {

using std::chrono::seconds;

constexpr Time kBegin{std::chrono::hours(24 * 365 * 50)};

struct StoreWatchTest : testing::Test {
  void call(int second, std::optional<ErrorCode> trouble = {}) {
    note_call(trouble ? Result<void>(fail(*trouble, "no connection")) : Result<void>(), kBegin + seconds(second), state,
              late);
  }
  StoreState state{"table", true, kBegin, {}, {}};
  int late = 0;
};

TEST_F(StoreWatchTest, AStoreThatIsGoneIsAwaySinceItsLastAnswer) {
  call(1);
  EXPECT_TRUE(state.answers);
  EXPECT_EQ(state.since, kBegin);
  call(2, ErrorCode::kUnavailable);
  EXPECT_FALSE(state.answers);
  EXPECT_EQ(state.since, kBegin + seconds(1));
  EXPECT_EQ(state.problem, "no connection");
  call(3, ErrorCode::kUnavailable);
  EXPECT_EQ(state.since, kBegin + seconds(1)) << "it is away since the first time";
  call(9);
  EXPECT_TRUE(state.answers);
  EXPECT_EQ(state.since, kBegin + seconds(9));
  EXPECT_EQ(state.answered_at, kBegin + seconds(9));
  EXPECT_EQ(state.problem, "");
}

TEST_F(StoreWatchTest, OneLateAnswerIsNotEnough) {
  call(1);
  call(2, ErrorCode::kDeadlineExceeded);
  EXPECT_TRUE(state.answers);
  call(3);
  call(4, ErrorCode::kDeadlineExceeded);
  EXPECT_TRUE(state.answers) << "they are counted in a row";
  call(5, ErrorCode::kDeadlineExceeded);
  EXPECT_FALSE(state.answers);
}

TEST(StoreWatch, SaysThatAStoreAnswersWhichItDoesNotKnow) {
  const StoreWatch watch;
  EXPECT_TRUE(watch.answers("table"));
  EXPECT_TRUE(watch.states().empty());
}

}  // namespace
}  // namespace tidemark::api
