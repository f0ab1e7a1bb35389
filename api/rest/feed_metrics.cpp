#include "api/rest/feed_metrics.h"

#include <prometheus/text_serializer.h>

#include "api/rest/feed_lags.h"
#include "common/base/encoding.h"
#include "common/process/metrics.h"

namespace tidemark::api {
namespace {

class Families {
 public:
  Families() {
    add("tidemark_consumer_lag_seconds", "Age of the oldest change that a consumer group has not acknowledged.");
    add("tidemark_consumer_waiting_changes", "Changes that a consumer group has not acknowledged.");
    add("tidemark_on_change_lag_seconds", "Age of the oldest change that was not told.");
    add("tidemark_on_change_waiting_changes", "Changes that were not told.");
    add("tidemark_on_change_stopped", "1: a change could not be told, and it waits for a person.");
  }

  void show(const FeedLag& lag) {
    const std::vector<prometheus::ClientMetric::Label> labels{{"table", to_lower_ascii(lag.table)},
                                                              {lag.of_group ? "group" : "name", lag.name}};
    const std::size_t first = lag.of_group ? 0 : 2;
    if (!lag.ended) {
      process::add_value(all_[first], std::chrono::duration<double>(lag.age).count(), labels);
      process::add_value(all_[first + 1], static_cast<double>(lag.changes), labels);
    }
    if (!lag.of_group) process::add_value(all_[4], lag.stopped ? 1 : 0, labels);
  }

  [[nodiscard]] std::string text() {
    std::erase_if(all_, [](const auto& family) { return family.metric.empty(); });
    return prometheus::TextSerializer().Serialize(all_);
  }

 private:
  void add(std::string name, std::string help) {
    all_.push_back({std::move(name), std::move(help), prometheus::MetricType::Gauge, {}});
  }
  std::vector<prometheus::MetricFamily> all_;
};

}  // namespace

Task<Result<std::string>> feed_metrics(Api& api) {
  Families families;
  for (const auto& lag : CO_TRY(co_await feed_lags(api))) families.show(lag);
  co_return families.text();
}

}  // namespace tidemark::api
