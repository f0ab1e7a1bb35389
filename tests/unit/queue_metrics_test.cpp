// The figures of all queues: read for one request at a time, now and then, in slices between which other work has its
// turn.
#include "queue_service/rest/queue_metrics.h"

#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service::rest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Metrics : public QueueTest {
 protected:
  void fill(int queues) {
    for (int i = 0; i < queues; ++i) {
      const auto name = "queue-" + std::to_string(i);
      ASSERT_TRUE(run(service_.create_queue("acc", name, {})));
      ASSERT_TRUE(run(service_.put("acc", name, {.text = "m"})));
    }
  }
  void refresh() {
    asio::co_spawn(io_, metrics_.refresh(), asio::detached);
    settle();
  }
  /// Returns the sum over all queues, and the number of series.
  std::pair<double, std::size_t> put_total() {
    for (const auto& family : metrics_.Collect()) {
      if (family.name != "tidemark_queue_put_total") continue;
      double sum = 0;
      for (const auto& metric : family.metric) sum += metric.counter.value;
      return {sum, family.metric.size()};
    }
    return {0, 0};
  }
  QueueMetrics metrics_{service_, clock_, 3};
};

TEST_F(Metrics, HaveSeriesForTheFirstQueuesAndTheSumOfTheOthers) {
  fill(100);
  refresh();
  EXPECT_EQ(put_total(), std::pair(100.0, std::size_t{4}));
}

TEST_F(Metrics, AreReadAgainAfterAWhileOnly) {
  fill(2);
  refresh();
  fill(1);  // one more message
  refresh();
  EXPECT_EQ(put_total().first, 2.0);
  advance(seconds(6));
  EXPECT_EQ(put_total().first, 2.0) << "collecting reads nothing";
  refresh();
  EXPECT_EQ(put_total().first, 3.0);
}

TEST_F(Metrics, LetOthersHaveTheirTurnWhileTheyAreRead) {
  fill(100);
  asio::co_spawn(io_, metrics_.refresh(), asio::detached);
  io_.restart();
  std::size_t others = 0;
  bool done = false;
  asio::co_spawn(io_, metrics_.refresh(), [&](const std::exception_ptr&) { done = true; });
  while (put_total().second == 0 && others < 1000) {
    asio::post(io_, [&] { ++others; });
    io_.poll_one();
  }
  EXPECT_GT(others, 10U);
  EXPECT_TRUE(done) << "who comes second has the figures from before, at once";
  settle();
  EXPECT_EQ(put_total().first, 100.0);
}

TEST_F(Metrics, AListOfQueuesLetsOthersHaveTheirTurnToo) {
  fill(100);
  std::optional<QueueFiguresPage> page;
  asio::co_spawn(io_, client_.all_figures(90, ""), [&](const std::exception_ptr&, Result<QueueFiguresPage> got) {
    page = std::move(got).value_or(QueueFiguresPage{});
  });
  io_.restart();
  std::size_t others = 0;
  while (!page && others < 1000) {
    asio::post(io_, [&] { ++others; });
    io_.poll_one();
  }
  EXPECT_GT(others, 10U);
  ASSERT_EQ(page->queues.size(), 90U);
  const auto rest = run(client_.all_figures(90, page->continuation));
  ASSERT_EQ(rest->queues.size(), 10U);
  EXPECT_EQ(rest->continuation, "");
}

TEST_F(Metrics, TakeATenthOfTheTimeAtMost) {
  fill(20);
  asio::co_spawn(io_, metrics_.refresh(), asio::detached);
  io_.restart();
  io_.poll_one();
  clock_.advance(seconds(2));  // while they are read
  settle();
  fill(1);
  advance(seconds(10));
  refresh();
  EXPECT_EQ(put_total().first, 20.0);
  advance(seconds(9));
  refresh();
  EXPECT_EQ(put_total().first, 21.0);
}

}  // namespace
}  // namespace tidemark::queue_service::rest
