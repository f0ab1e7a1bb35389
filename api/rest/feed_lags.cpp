#include "api/rest/feed_lags.h"

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

}  // namespace

Task<Result<std::vector<FeedLag>>> feed_lags(Api& api) {
  std::vector<FeedLag> out;
  std::size_t tables = 0;
  for (auto& [table, readers] : CO_TRY(co_await all_readers(api))) {
    if (++tables > kMostTables) break;
    std::vector<table_store::FeedPlace> places;
    for (const auto& reader : readers) {
      places.push_back(feeds::parse_token(table, reader.token).value_or(table_store::FeedPlace{}));
    }
    auto status = co_await api.tables.feed(table, std::move(places));
    if (status.failed_with(ErrorCode::kFeedNotFound)) {
      for (const auto& reader : readers) out.push_back({table, reader.name, reader.of_group, reader.stopped, true});
      continue;
    }
    const auto found = CO_TRY(std::move(status));
    const auto now = api.clock.now();
    for (std::size_t i = 0; i < readers.size() && i < found.places.size(); ++i) {
      const auto& place = found.places[i];
      const auto age = place.oldest ? std::max(now - *place.oldest, Duration::zero()) : Duration::zero();
      const auto& reader = readers[i];
      out.push_back({table, reader.name, reader.of_group, reader.stopped, place.gone, place.changes, age});
    }
  }
  co_return out;
}

}  // namespace tidemark::api
