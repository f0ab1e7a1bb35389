#include "common/kv/age_clock.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/support/memory_engine.h"

namespace tidemark::kv {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::minutes;

class SettableClock final : public Clock {
 public:
  [[nodiscard]] Time now() const override { return wall; }
  [[nodiscard]] Duration monotonic() const override { return elapsed; }
  std::shared_ptr<Timer> call_after(Duration, Executor, std::function<void()>) override { return nullptr; }
  void pass(Duration by) {
    wall += by;
    elapsed += by;
  }
  Time wall = Time(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
  Duration elapsed{};
};

class AgeClockTest : public testing::Test {
 protected:
  void keep() {
    asio::io_context io;
    asio::co_spawn(io, ages_->keep(), [](const std::exception_ptr& failure, const Result<void>& kept) {
      ASSERT_FALSE(failure);
      ASSERT_TRUE(kept);
    });
    io.run();
  }
  void run_for(Duration span) {
    for (Duration done{}; done < span; done += minutes(1)) {
      clock_.pass(minutes(1));
      keep();
    }
  }
  /// Starts the store again after this pause.
  void start_after(Duration pause) {
    clock_.wall += pause;
    clock_.elapsed = hours(5);  // of another machine's life
    ages_ = std::make_unique<AgeClock>(*engine_, clock_);
  }
  [[nodiscard]] Time now() const { return ages_->now(); }

  SettableClock clock_;
  std::unique_ptr<Engine> engine_ = make_memory_engine();
  std::unique_ptr<AgeClock> ages_ = std::make_unique<AgeClock>(*engine_, clock_);
};

TEST_F(AgeClockTest, IsTheWallClockAsLongAsThatRunsEvenly) {
  EXPECT_EQ(now(), clock_.wall);
  run_for(hours(3));
  EXPECT_EQ(now(), clock_.wall);
  clock_.pass(minutes(30));
  EXPECT_EQ(now(), clock_.wall) << "however long it was not kept";
}

TEST_F(AgeClockTest, FollowsAClockThatWasSetForwardAtTwiceTheSpeed) {
  run_for(hours(1));
  const auto before = clock_.wall;
  clock_.wall += days(30);
  EXPECT_LE(now(), before + minutes(2));
  run_for(hours(1));
  EXPECT_LE(now(), before + hours(2) + minutes(2));
  run_for(days(31));
  EXPECT_EQ(now(), clock_.wall) << "by now it is believed";
}

TEST_F(AgeClockTest, IsNotLedAstrayByAMistakeThatWasMended) {
  run_for(hours(1));
  clock_.wall += days(30);
  run_for(hours(1));
  clock_.wall -= days(30);
  run_for(hours(3));
  EXPECT_EQ(now(), clock_.wall);
  clock_.wall -= days(30);
  EXPECT_EQ(now(), clock_.wall);
  run_for(hours(1));
  EXPECT_EQ(now(), clock_.wall);
  clock_.wall += days(30);
  run_for(minutes(1));
  EXPECT_EQ(now(), clock_.wall) << "it had been there before";
}

TEST_F(AgeClockTest, BelievesAnHourOfAPauseAtOnce) {
  run_for(hours(1));
  const auto before = clock_.wall;
  start_after(minutes(50));
  EXPECT_EQ(now(), clock_.wall);
  keep();
  start_after(days(40));
  EXPECT_EQ(now(), before + minutes(50) + hours(1));
  run_for(hours(1));
  EXPECT_LE(now(), before + minutes(50) + hours(3));
  start_after(-days(80));
  EXPECT_EQ(now(), clock_.wall);
}

}  // namespace
}  // namespace tidemark::kv
