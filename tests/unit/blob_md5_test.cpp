// MD5 in lanes gives the same as MD5 alone, with any neighbours, and each request gets its own result.
#include <gtest/gtest.h>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>

#include "blob_store/rest/md5_lanes.h"
#include "blob_store/rest/md5_round.h"
#include "common/base/encoding.h"
#include "tests/support/seeded_random.h"

namespace tidemark::blob_store {
namespace {

class Contents {
 public:
  std::string of_size(std::size_t size) { return random_bytes(*random_, size); }
  std::size_t below(std::size_t limit) { return random_->below(limit); }

 private:
  std::unique_ptr<Random> random_ = make_seeded_random(13);
};

void expect_right(const std::vector<std::string>& contents) {
  const auto sums = md5_of_all({contents.begin(), contents.end()});
  ASSERT_EQ(sums.size(), contents.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    EXPECT_EQ(sums[i], md5(contents[i])) << i << " of " << contents.size() << ", " << contents[i].size() << " bytes";
  }
}

TEST(Md5Lanes, GiveTheDigestsOfTheStandard) {
  const std::vector<std::string_view> contents(5, "message digest");
  for (const auto& sum : md5_of_all(contents)) EXPECT_EQ(base64_encode(sum), "+WtpfXy3k41SWi8xqvFh0A==");
}

TEST(Md5Lanes, TakeEachLengthAroundTheEndOfABlock) {
  Contents make;
  for (std::size_t size = 0; size <= 260; ++size) {
    std::vector<std::string> same(3, std::string());
    for (auto& content : same) content = make.of_size(size);
    expect_right(same);
  }
}

TEST(Md5Lanes, TakeAnyNumberOfAnyLengths) {
  Contents make;
  for (std::size_t count = 0; count <= 40; ++count) {
    std::vector<std::string> contents;
    // Some lengths are so similar that they run side by side, some are not.
    for (std::size_t i = 0; i < count; ++i) contents.push_back(make.of_size(make.below(count % 2 == 0 ? 300 : 9'000)));
    expect_right(contents);
  }
}

TEST(Md5Lanes, RunAsLongAsTheLongestAndRepeatNothingOfIt) {
  Contents make;
  expect_right({make.of_size(64 * 20), make.of_size(64 * 10), make.of_size(64 * 10 + 55), make.of_size(64 * 19 + 56)});
}

class Md5Round : public ::testing::Test {
 protected:
  /// Runs so many requests at once on the executor and waits for all of their results.
  void run(asio::thread_pool& pool, std::size_t count) {
    std::vector<std::string> bodies;
    for (std::size_t i = 0; i < count; ++i) bodies.push_back(make_.of_size(1'000 + make_.below(1'000)));
    std::vector<std::string> sums(count);
    const auto request = [&](std::size_t i) -> Task<void> { sums[i] = co_await md5_with_others(bodies[i]); };
    for (std::size_t i = 0; i < count; ++i) asio::co_spawn(pool, request(i), asio::detached);
    pool.join();
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(sums[i], md5(bodies[i])) << i;
  }
  Contents make_;
};

TEST_F(Md5Round, TellsEachItsOwn) {
  asio::thread_pool pool(1);
  run(pool, 50);
}

TEST_F(Md5Round, IsRightOnManyThreads) {
  asio::thread_pool pool(4);
  run(pool, 500);
}

TEST_F(Md5Round, GoesWithItsExecutor) {
  const auto body = make_.of_size(1'000);
  {
    asio::io_context never_runs;
    asio::co_spawn(
        never_runs, [&]() -> Task<void> { static_cast<void>(co_await md5_with_others(body)); }, asio::detached);
    never_runs.poll_one();  // it waits, and its turn does not come
  }
  asio::thread_pool pool(1);
  run(pool, 3);
}

TEST_F(Md5Round, WaitsForNoOtherExecutor) {
  const auto body = make_.of_size(1'000);
  std::string sum;
  const auto request = [&]() -> Task<void> { sum = co_await md5_with_others(body); };
  asio::io_context stands_still;
  asio::co_spawn(stands_still, request(), asio::detached);
  stands_still.poll_one();  // it waits for its turn
  asio::io_context runs;
  asio::co_spawn(runs, request(), asio::detached);
  runs.run();
  EXPECT_EQ(sum, md5(body));
}

}  // namespace
}  // namespace tidemark::blob_store
