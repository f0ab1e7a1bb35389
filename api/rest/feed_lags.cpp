#include "api/rest/feed_lags.h"

#include <map>

#include "api/rest/api_routes.h"
#include "common/base/encoding.h"
#include "feeds/tokens/token.h"

namespace tidemark::api {
namespace {

constexpr std::size_t kMostTables = 100;

/// A stored place of a reader in a feed.
struct Reader {
  FeedLag lag;
  std::string token;
};
using Readers = std::map<std::string, std::vector<Reader>>;  // by table, in lower case

Task<Result<Readers>> all_readers(Api& api) {
  Readers out;
  // Any client may write to these tables.
  const auto add = [&out](Reader reader) {
    const auto& table = reader.lag.table;
    if (jobs::is_table_name(table)) out[to_lower_ascii(table)].push_back(std::move(reader));
  };
  for (auto& each : CO_TRY(co_await api.consumers.all({}))) {
    add({{.table = std::move(each.table), .name = std::move(each.group), .of_group = true}, std::move(each.token)});
  }
  for (auto& each : CO_TRY(co_await api.on_changes.all())) {
    auto progress = CO_TRY(co_await api.on_changes.progress(each.id));
    auto token = progress.token.empty() ? std::move(each.start) : std::move(progress.token);
    FeedLag lag{.table = std::move(each.table), .name = std::move(each.name)};
    lag.stopped = progress.state == feeds::kStopped;
    if (lag.stopped) lag.error = std::move(progress.last_error);
    add({std::move(lag), std::move(token)});
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
      for (auto& reader : readers) {
        reader.lag.ended = reader.lag.gone = true;
        out.push_back(std::move(reader.lag));
      }
      continue;
    }
    const auto found = CO_TRY(std::move(status));
    const auto now = api.clock.now();
    for (std::size_t i = 0; i < readers.size() && i < found.places.size(); ++i) {
      const auto& place = found.places[i];
      auto& lag = readers[i].lag;
      lag.table = found.table;
      lag.gone = place.gone;
      lag.changes = place.changes;
      if (place.oldest) lag.age = std::max(now - *place.oldest, Duration::zero());
      out.push_back(std::move(lag));
    }
  }
  co_return out;
}

}  // namespace tidemark::api
