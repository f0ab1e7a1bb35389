#include "common/kv/fading_rows.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "tests/support/memory_engine.h"

namespace tidemark::kv {
namespace {

using std::chrono::hours;

class FadingRowsTest : public ::testing::Test {
 protected:
  void put(const std::string& key, const std::string& value) {
    engine_->submit(
        [&](Transaction& txn) -> Result<void> {
          txn.put(key, value);
          return {};
        },
        [](const Result<void>& done) { ASSERT_TRUE(done); });
  }
  std::size_t rows() {
    std::size_t n = 0;
    const auto snapshot = engine_->snapshot();
    for (auto cursor = snapshot->scan({"", ""}); cursor->valid(); cursor->next()) ++n;
    return n;
  }
  std::size_t round(Duration later) {
    now_ += later;
    std::size_t dropped = 0;
    asio::io_context io;
    auto task = drop_faded(*engine_, {{"o", "p"}, "O"}, hours(10), now_);
    asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& failure, Result<std::size_t> result) {
      ASSERT_FALSE(failure);
      ASSERT_TRUE(result);
      dropped = *result;
    });
    io.run();
    return dropped;
  }
  Time now_ = Time(std::chrono::sys_days{std::chrono::year{2026} / 11 / 21});
  std::unique_ptr<Engine> engine_ = make_memory_engine();
};

TEST_F(FadingRowsTest, GoOnceTheyDidNotChangeForLong) {
  put("o1", "a");
  put("o2", "b");
  put("n", "not one of them");
  put("p", "nor this");
  EXPECT_EQ(round(hours(0)), 0U);
  EXPECT_EQ(round(hours(9)), 0U);
  put("o2", "changed");
  EXPECT_EQ(round(hours(1)), 1U) << "o1; the other one changed";
  EXPECT_EQ(round(hours(9)), 0U);
  EXPECT_EQ(round(hours(1)), 1U);
  EXPECT_EQ(rows(), 2U) << "neither row nor mark is left, and nothing else was touched";
}

TEST_F(FadingRowsTest, AreLookedAtInTurns) {
  constexpr std::size_t kRows = 10'000;
  for (std::size_t i = 0; i < kRows; ++i) put("o" + std::to_string(i), "x");
  EXPECT_EQ(round(hours(0)), 0U);
  asio::io_context io;
  bool done = false;
  asio::co_spawn(
      io, drop_faded(*engine_, {{"o", "p"}, "O"}, hours(10), now_),
      [&](const std::exception_ptr&, const Result<std::size_t>& dropped) { done = dropped && *dropped == 0; });
  std::size_t turns = 0;
  while (io.run_one() > 0) ++turns;
  EXPECT_TRUE(done);
  EXPECT_GE(turns, kRows / 256) << "a turn over more rows would keep requests waiting";
}

TEST_F(FadingRowsTest, ComeInAnyNumber) {
  for (int i = 0; i < 3000; ++i) put("o" + std::to_string(i), "x");
  EXPECT_EQ(round(hours(0)), 0U);
  put("o-late", "y");
  EXPECT_EQ(round(hours(11)), 3000U);
  EXPECT_EQ(rows(), 2U);
}

}  // namespace
}  // namespace tidemark::kv
