// Usage of a store: the names that have series, and the bound on their number; and requests by operation.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/service/request_meter.h"
#include "common/service/usage_meter.h"

namespace tidemark::service {
namespace {

using analytics::Access;
using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

class Usage : public ::testing::Test {
 protected:
  void ask(const std::string& name, int times = 1, unsigned status = 200) {
    for (int i = 0; i < times; ++i) meter_.record("acc", name, Access::kRead, status, milliseconds(2));
  }
  static std::string line(const std::string& name, int count, const std::string& status = "2xx") {
    const auto account = name == "(other)" ? "" : "acc";
    return std::string("tidemark_table_requests_total{account=\"") + account + "\",table=\"" + name +
           "\",access=\"read\",status=\"" + status + "\"} " + std::to_string(count) + "\n";
  }

  process::Metrics metrics_;
  UsageMeter meter_{{"table", "partition"}, {.max_names = 2, .hot_partitions = 3}, metrics_};
};

TEST_F(Usage, CountsByNameAndWhatItCame) {
  ask("People", 3);
  ask("people", 2, 404);
  ask("PEOPLE");
  meter_.record("acc", "people", Access::kWrite, 204, milliseconds(500));
  const auto text = metrics_.render();
  EXPECT_THAT(text, HasSubstr(line("people", 4)));
  EXPECT_THAT(text, HasSubstr("access=\"write\",status=\"2xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tidemark_table_request_seconds_total{account=\"acc\",table=\"people\"} 0.5"));
}

TEST_F(Usage, ANameThatDoesNotExistHasNoSeries) {
  for (int i = 0; i < 5000; ++i) ask("nothing" + std::to_string(i), 1, 404);
  ask("there");
  ask("there", 1, 404);
  const auto text = metrics_.render();
  EXPECT_THAT(text, Not(HasSubstr("nothing")));
  EXPECT_THAT(text, HasSubstr(line("(other)", 5000, "4xx")));
  EXPECT_THAT(text, HasSubstr(line("there", 1, "4xx")));
}

TEST_F(Usage, TheMostUsedHaveSeriesAndNothingIsLost) {
  ask("a", 10);
  ask("b", 20);
  ask("c", 30);
  auto text = metrics_.render();
  EXPECT_THAT(text, HasSubstr(line("b", 20)));
  EXPECT_THAT(text, HasSubstr(line("c", 30)));
  EXPECT_THAT(text, HasSubstr(line("(other)", 10)));
  ask("a", 500);
  text = metrics_.render();
  EXPECT_THAT(text, HasSubstr(line("a", 500))) << "it comes back when it is used more";
  EXPECT_THAT(text, HasSubstr(line("(other)", 30))) << "with what it and the one that gave way had before";
  for (int i = 0; i < 3000; ++i) ask("many" + std::to_string(i));
  text = metrics_.render();
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 40);
}

TEST_F(Usage, NamesTheHottestPartitionsOfTheHalfMinuteBefore) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 300; ++i) {
    meter_.sample({"acc", "people", "hot"}, begin);
    if (i % 10 == 0) meter_.sample({"acc", "people", "warm"}, begin);
  }
  meter_.sample({"acc", "people", "once"}, begin);
  meter_.sample({"acc", "people", std::string(100, 'x')}, begin);
  meter_.sample({"acc", "people", std::string(100, 'x')}, begin);
  EXPECT_THAT(metrics_.render(), Not(HasSubstr("hot\""))) << "the window is not over";
  const auto families = meter_.figures(begin + std::chrono::seconds(31));
  const auto& hottest = families.back();
  ASSERT_EQ(hottest.name, "tidemark_hot_partition_requests_per_second");
  ASSERT_EQ(hottest.metric.size(), 3U);
  EXPECT_EQ(hottest.metric[0].label[2].value, "hot");
  EXPECT_DOUBLE_EQ(hottest.metric[0].gauge.value, 300.0 * 16 / 30);
  EXPECT_EQ(hottest.metric[1].label[2].value, "warm");
  EXPECT_EQ(hottest.metric[2].label[2].value, std::string(64, 'x') + "...");
  EXPECT_TRUE(meter_.figures(begin + std::chrono::seconds(200)).back().metric.empty()) << "of long ago";
}

TEST(RequestMeter, MeasuresByOperationAndStatus) {
  process::Metrics metrics;
  RequestMeter meter(metrics);
  http::Request request;
  request.operation = "QueryEntity";
  meter.record(request, 200, milliseconds(3));
  meter.record(request, 404, milliseconds(3));
  const std::string elsewhere = "QueryEntity";
  request.operation = elsewhere;
  meter.record(request, 200, milliseconds(700));
  request.operation = {};
  meter.record(request, 503, milliseconds(1));
  const auto text = metrics.render();
  const std::string name = "tidemark_http_request_duration_seconds";
  EXPECT_THAT(text, HasSubstr(name + "_count{operation=\"QueryEntity\",status=\"2xx\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{operation=\"QueryEntity\",status=\"2xx\",le=\"0.005\"} 1\n"));
  for (const auto* bound : {"0.1", "0.25", "0.5", "1", "2.5"}) {
    EXPECT_THAT(text, HasSubstr(name + "_bucket{operation=\"QueryEntity\",status=\"2xx\",le=\"" + bound + "\"} "));
  }
  EXPECT_THAT(text, HasSubstr(name + "_count{operation=\"QueryEntity\",status=\"4xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(name + "_count{operation=\"(none)\",status=\"5xx\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tidemark_http_requests_total{status=\"2xx\"} 2\n"));
}

TEST(RequestMeter, HasRoomForABoundedNumberOfOperations) {
  process::Metrics metrics;
  RequestMeter meter(metrics);
  std::vector<std::string> names;
  for (int i = 0; i < 500; ++i) names.push_back("operation number " + std::to_string(i));
  for (const auto& name : names) {
    http::Request request;
    request.operation = name;
    meter.record(request, 200, milliseconds(1));
  }
  EXPECT_THAT(metrics.render(), HasSubstr("_count{operation=\"(none)\",status=\"2xx\"} 372\n"));
}

}  // namespace
}  // namespace tidemark::service
