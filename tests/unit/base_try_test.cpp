#include <gtest/gtest.h>

#include "common/base/async.h"

namespace tidemark {
namespace {

/// Counts the copies that are alive, so that one destroyed twice or never is seen.
class Counted {
 public:
  explicit Counted(int value) : value(value) { ++alive; }
  Counted(const Counted& other) : value(other.value) { ++alive; }
  Counted(Counted&& other) noexcept : value(std::exchange(other.value, -1)) { ++alive; }
  Counted& operator=(const Counted&) = default;
  Counted& operator=(Counted&&) = default;
  ~Counted() { --alive; }
  int value;
  static inline int alive = 0;
};

Result<int> number(bool there) {
  if (!there) return fail(ErrorCode::kEntityAlreadyExists, "it is there");
  return 7;
}
Result<void> nothing(bool fine) {
  if (!fine) return fail(ErrorCode::kFenced);
  return {};
}
Result<std::unique_ptr<int>> owned(bool there) { return std::make_unique<int>(TRY(number(there))); }

Result<int> sum(bool first, bool second) {
  TRY(nothing(first));
  return TRY(number(first)) + TRY(number(second));
}

TEST(Try, IsTheValueOfAResult) {
  EXPECT_EQ(sum(true, true), 14);
  EXPECT_EQ(**owned(true), 7);
}

TEST(Try, LeavesWithTheErrorWhole) {
  EXPECT_TRUE(sum(false, true).failed_with(ErrorCode::kFenced));
  auto outcome = sum(true, false);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, ErrorCode::kEntityAlreadyExists);
  EXPECT_EQ(outcome.error().message, "it is there");
  EXPECT_TRUE(owned(false).failed_with(ErrorCode::kEntityAlreadyExists));
}

TEST(Try, LeavesAResultThatHasANameAsItWas) {
  const auto once = [](Result<std::string>& text) -> Result<std::size_t> { return TRY(text).size(); };
  Result<std::string> text = std::string(100, 'x');
  EXPECT_EQ(once(text), 100U);
  EXPECT_EQ(text->size(), 100U);
  text = fail(ErrorCode::kFenced, "why");
  EXPECT_FALSE(once(text));
  EXPECT_EQ(text.error().message, "why");
}

Task<Result<Counted>> doubled(std::function<int()> input, Counted extra) {
  co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
  const int value = input();
  if (value < 0) co_return fail(ErrorCode::kInvalidInput);
  co_return Counted(2 * value + extra.value);
}

/// Has temporaries and capturing lambdas inside awaited expressions, in a loop and in an argument list.
Task<Result<int>> add_up(int rounds, int last) {
  int total = 0;
  const auto kept = std::make_shared<Counted>(1);
  for (int i = 0; i < rounds; ++i) {
    total += CO_TRY(co_await doubled([kept, i] { return kept->value * i; }, Counted(i))).value;
  }
  CO_TRY(co_await doubled([kept, last] { return last; }, Counted(0)));
  co_return std::max(total, CO_TRY(co_await doubled([] { return 1; }, Counted(*std::make_unique<int>(3)))).value);
}

Result<int> run(Task<Result<int>> task) {
  asio::io_context io;
  Result<int> outcome = fail(ErrorCode::kInternalError);
  asio::co_spawn(io, std::move(task), [&](std::exception_ptr, Result<int> end) { outcome = std::move(end); });
  io.run();
  return outcome;
}

TEST(Try, FlowsThroughCoroutinesAndDestroysEachTemporaryOnce) {
  EXPECT_EQ(run(add_up(1000, 0)), 3 * 999 * 1000 / 2);
  EXPECT_EQ(Counted::alive, 0);
  EXPECT_TRUE(run(add_up(1000, -1)).failed_with(ErrorCode::kInvalidInput));
  EXPECT_EQ(Counted::alive, 0);
}

}  // namespace
}  // namespace tidemark
