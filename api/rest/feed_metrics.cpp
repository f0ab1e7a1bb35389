#include "api/rest/feed_metrics.h"

#include <prometheus/text_serializer.h>

#include <map>

#include "api/rest/api_routes.h"
#include "common/base/encoding.h"
#include "feeds/tokens/token.h"

namespace tidemark::api {
namespace {

constexpr std::size_t kMostTables = 100;

/// A place in a feed that somebody is at.
struct Reader {
  bool of_group = false;  // or of a declaration
  std::string name;
  std::string token;
  bool stopped = false;
};
using Readers = std::map<std::string, std::vector<Reader>>;  // by table, in lower case

Task<Result<Readers>> all_readers(Api& api) {
  Readers out;
  // Every SDK may write there.
  const auto add = [&out](const std::string& table, Reader reader) {
    if (jobs::is_table_name(table)) out[to_lower_ascii(table)].push_back(std::move(reader));
  };
  for (auto& each : CO_TRY(co_await api.consumers.all({}))) {
    add(each.table, {true, std::move(each.group), std::move(each.token)});
  }
  for (auto& each : CO_TRY(co_await api.on_changes.all())) {
    auto progress = CO_TRY(co_await api.on_changes.progress(each.id));
    auto token = progress.token.empty() ? std::move(each.start) : std::move(progress.token);
    add(each.table, {false, std::move(each.name), std::move(token), progress.state == feeds::kStopped});
  }
  co_return out;
}

class Families {
 public:
  Families() {
    add("tidemark_consumer_lag_seconds", "Age of the oldest change that a consumer group has not acknowledged.");
    add("tidemark_consumer_waiting_changes", "Changes that a consumer group has not acknowledged.");
    add("tidemark_on_change_lag_seconds", "Age of the oldest change that was not told.");
    add("tidemark_on_change_waiting_changes", "Changes that were not told.");
    add("tidemark_on_change_stopped", "1: a change could not be told, and it waits for a person.");
  }

  void show(const std::string& table, const Reader& reader, const table_store::PlaceStatus& status, Time now) {
    const std::vector<prometheus::ClientMetric::Label> labels{{"table", table},
                                                              {reader.of_group ? "group" : "name", reader.name}};
    const std::size_t first = reader.of_group ? 0 : 2;
    const auto age = status.oldest ? std::max(now - *status.oldest, Duration::zero()) : Duration::zero();
    process::add_value(all_[first], std::chrono::duration<double>(age).count(), labels);
    process::add_value(all_[first + 1], static_cast<double>(status.changes), labels);
    if (!reader.of_group) process::add_value(all_[4], reader.stopped ? 1 : 0, labels);
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
  std::size_t tables = 0;
  for (const auto& [table, readers] : CO_TRY(co_await all_readers(api))) {
    if (++tables > kMostTables) break;
    std::vector<table_store::FeedPlace> places;
    for (const auto& reader : readers) {
      places.push_back(feeds::parse_token(table, reader.token).value_or(table_store::FeedPlace{}));
    }
    auto status = co_await api.tables.feed(table, std::move(places));
    if (status.failed_with(ErrorCode::kFeedNotFound)) continue;
    const auto found = CO_TRY(std::move(status));
    for (std::size_t i = 0; i < readers.size() && i < found.places.size(); ++i) {
      families.show(table, readers[i], found.places[i], api.clock.now());
    }
  }
  co_return families.text();
}

}  // namespace tidemark::api
