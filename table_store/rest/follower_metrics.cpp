#include "table_store/rest/follower_metrics.h"

#include "common/process/failures.h"
#include "common/process/metrics.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMostFollowers = 100;
constexpr std::size_t kMostFeeds = 100;

std::vector<prometheus::MetricFamily> of_feeds(const std::vector<TableService::NamedFeed>& feeds) {
  constexpr auto kGauge = prometheus::MetricType::Gauge;
  prometheus::MetricFamily changes{
      "tidemark_feed_kept_changes", "Changes that the change feed of a table keeps.", kGauge, {}};
  prometheus::MetricFamily bytes{"tidemark_feed_kept_bytes", "Their size.", kGauge, {}};
  for (const auto& [account, status] : feeds) {
    const std::vector<prometheus::ClientMetric::Label> labels{{"account", account}, {"table", status.table}};
    process::add_value(changes, static_cast<double>(status.kept.changes), labels);
    process::add_value(bytes, static_cast<double>(status.kept.bytes), labels);
  }
  return {std::move(changes), std::move(bytes)};
}

}  // namespace

std::vector<prometheus::MetricFamily> FollowerMetrics::Collect() const {
  constexpr auto kGauge = prometheus::MetricType::Gauge;
  const auto followers = service_.all_followers(kMostFollowers);
  if (!followers) {
    process::log_failed_task("table.metrics", followers.error());
    return {};
  }
  prometheus::MetricFamily lag{"tidemark_follower_lag_seconds",
                               "Age of the oldest change that a follower of a table has not dealt with.",
                               kGauge,
                               {}};
  prometheus::MetricFamily waiting{
      "tidemark_follower_waiting_changes", "Changes that a follower of a table has not dealt with.", kGauge, {}};
  prometheus::MetricFamily stale{
      "tidemark_follower_stale", "1: the table's log no longer waits for the follower.", kGauge, {}};
  for (const auto& [account, table, status] : *followers) {
    const std::vector<prometheus::ClientMetric::Label> labels{
        {"account", account}, {"table", table}, {"follower", status.following.follower}};
    const auto age = status.oldest ? std::max(clock_.now() - *status.oldest, Duration::zero()) : Duration::zero();
    process::add_value(lag, std::chrono::duration<double>(age).count(), labels);
    process::add_value(waiting, static_cast<double>(status.changes_behind), labels);
    process::add_value(stale, status.stale ? 1 : 0, labels);
  }
  std::vector<prometheus::MetricFamily> families{std::move(lag), std::move(waiting), std::move(stale)};
  const auto feeds = service_.all_feeds(kMostFeeds);
  if (feeds) {
    std::ranges::move(of_feeds(*feeds), std::back_inserter(families));
  } else {
    process::log_failed_task("table.metrics", feeds.error());
  }
  return families;
}

}  // namespace tidemark::table_store
