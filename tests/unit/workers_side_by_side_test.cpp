#include "common/base/side_by_side.h"

#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>
#include <set>

namespace tidemark::workers {
namespace {

class SideBySide : public ::testing::Test {
 protected:
  Result<void> run(std::size_t count, std::optional<std::size_t> failing) {
    Step step = [this, failing](std::size_t number) { return one(number, failing); };
    auto task = side_by_side(*clock_, count, std::move(step));
    auto future = asio::co_spawn(io_, std::move(task), asio::use_future);
    io_.restart();
    io_.run();
    return future.get();
  }
  Task<Result<void>> one(std::size_t number, std::optional<std::size_t> failing) {
    most_ = std::max(most_, ++running_);
    co_await sleep_for(*clock_, std::chrono::microseconds(100));
    --running_;
    done_.insert(number);
    if (number == failing) co_return fail(ErrorCode::kServerBusy);
    co_return Result<void>{};
  }
  asio::io_context io_;
  std::unique_ptr<Clock> clock_ = make_system_clock();
  std::set<std::size_t> done_;
  std::size_t running_ = 0, most_ = 0;
};

TEST_F(SideBySide, TakesEachStepOnceAndSoManyAtATime) {
  EXPECT_TRUE(run(100, {}));
  EXPECT_EQ(done_.size(), 100U);
  EXPECT_EQ(most_, kStepsAtOnce);
}

TEST_F(SideBySide, FewStepsOrNone) {
  EXPECT_TRUE(run(0, {}));
  EXPECT_TRUE(run(1, {}));
  EXPECT_TRUE(run(3, {}));
  EXPECT_EQ(done_.size(), 3U);
}

TEST_F(SideBySide, AFailureEndsItOnceAllUnderWayHaveEnded) {
  EXPECT_TRUE(run(1000, 20).failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(running_, 0U);
  EXPECT_TRUE(done_.contains(20));
  EXPECT_LT(done_.size(), 20 + 2 * kStepsAtOnce);
}

}  // namespace
}  // namespace tidemark::workers
