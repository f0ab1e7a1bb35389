// Change feeds of tables: their settings, and every change that they keep, in pages or as a stream.
#include "api/rest/api_routes.h"
#include "api/rest/event_stream.h"
#include "api/rest/feed_pages.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "feeds/definition/change_text.h"
#include "feeds/definition/feed_json.h"
#include "feeds/tokens/token.h"

namespace tidemark::api {
namespace {

using nlohmann::json;
using table_store::FeedPage;
using table_store::FeedRequest;
using table_store::FeedStatus;

constexpr Duration kRetry = std::chrono::milliseconds(500);
constexpr std::uint32_t kStreamPage = 100;

table_store::Version complete_since(const table_store::FeedPlace& oldest) {
  table_store::Version since = 0;
  for (const auto& log : oldest.logs) since = std::max(since, log.version);
  return since;
}

struct ShownFeed {
  FeedStatus status;
  Time now{};
  static constexpr const char* kSchema = "Feed";
  void members(jobs::SpecMembers& to) const {
    to.shows("table", status.table);
    feeds::FeedSpec{status.feed}.members(to);
    to.shows("changes", status.kept.changes, {.meaning = "how many are kept"});
    to.shows("bytes", status.kept.bytes);
    to.shows("completeSince", Time(Ticks(complete_since(status.oldest))),
             {.meaning = "all changes after this are kept"});
    to.shows("oldest", feeds::token_of(status.table, status.oldest),
             {.meaning = "token before the oldest change that is kept"});
    to.shows("end", feeds::token_of(status.table, status.end), {.meaning = "token after the newest change"});
    to.shows("oldestChange", status.kept.oldest);
    const auto age = [this](Time oldest) { return std::max(now - oldest, Duration::zero()); };
    to.shows("oldestAgeSeconds", status.kept.oldest.transform(age));
  }
};

json feed_json(FeedStatus status, Time now) { return json_of(ShownFeed{std::move(status), now}); }

/// A reader of the changes of these tables would cause more of them.
Result<void> check_not_its_own(std::string_view table) {
  if (!iequals_ascii(table, feeds::kConsumerTable) && !iequals_ascii(table, feeds::kOnChangeTable)) return {};
  return fail(ErrorCode::kInvalidInput, std::string(table) + " holds places in feeds: it has no feed itself.");
}

/// An on-change declaration would stop at the first change without the values that it needs.
Task<Result<void>> check_followers(Api& api, std::string table, table_store::ChangeFeed feed) {
  for (const auto& each : CO_TRY(co_await api.on_changes.all())) {
    if (!iequals_ascii(each.table, table) || feeds::keeps_enough(feed, each.definition)) continue;
    co_return fail(ErrorCode::kInvalidInput, each.name + " follows the changes of " + table +
                                                 " and needs values that this feed would not keep: declare it with " +
                                                 "\"values\":\"both\", or remove " + each.name + " first.");
  }
  co_return Result<void>{};
}

Answer put_feed(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_table_name(table));
  CO_TRY(check_not_its_own(table));
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto feed = CO_TRY(feeds::parse_feed(body));
  CO_TRY(co_await check_followers(api, table, feed));
  co_return json_response(200,
                          feed_json(CO_TRY(co_await api.tables.put_feed(std::move(table), feed)), api.clock.now()));
}

Answer show_feed(Api& api, http::Request&, std::string table) {
  CO_TRY(check_table_name(table));
  co_return json_response(200, feed_json(CO_TRY(co_await api.tables.feed(std::move(table), {})), api.clock.now()));
}

Answer drop_feed(Api& api, http::Request&, std::string table) {
  CO_TRY(check_table_name(table));
  CO_TRY(co_await api.tables.drop_feed(std::move(table)));
  co_return no_content();
}

std::vector<std::string> names_in(std::string_view list) {
  std::vector<std::string> names;
  while (!list.empty()) {
    const auto item = trimmed(take_item(list));
    if (!item.empty()) names.emplace_back(item);
  }
  return names;
}

Result<void> read_values(const Parameters& parameters, FeedRequest& request) {
  request.select = names_in(parameters.text("select"));
  const bool all = !request.select.empty() && !parameters.has("old") && !parameters.has("new");
  request.old_values = all || TRY(parameters.flag("old"));
  request.new_values = all || TRY(parameters.flag("new"));
  return {};
}

struct Asked {
  FeedRequest request;
  Duration wait{};
};

Result<Asked> read_asked(const http::Request& request, const Parameters& parameters, const std::string& table) {
  auto after = parameters.text("after");
  const auto last_seen = request.header("last-event-id");
  if (last_seen && !last_seen->empty()) after = *last_seen;
  Asked asked;
  auto start = feeds::parse_start(table, after.empty() ? "oldest" : after);
  if (!start) return fail(ErrorCode::kInvalidQueryParameterValue, "after: " + start.error().message);
  asked.request = std::move(*start);
  asked.request.limit = TRY(parameters.limit());
  TRY(read_values(parameters, asked.request));
  const auto wait = TRY(parameters.number("wait", 0, kLongestWaitS));
  asked.wait = std::chrono::seconds(wait.value_or(0));
  return asked;
}

/// Changes as server-sent events: event "change" with the token as its id, so that a client that comes back with
/// Last-Event-ID misses nothing; the token of the beginning comes first. If the feed cannot go on, "end" with the
/// problem. A comment every few seconds shows that the connection is alive, with the token of the place reached
/// meanwhile.
class ChangeEvents final : public http::BodySource {
 public:
  ChangeEvents(Api& api, std::string table, FeedRequest request, std::string request_id, EventStream stream)
      : tables_(api.tables),
        clock_(api.clock),
        table_(std::move(table)),
        request_(std::move(request)),
        request_id_(std::move(request_id)),
        stream_(std::move(stream)) {
    request_.limit = kStreamPage;
  }

  Task<Result<std::string>> next() override {
    const auto said = clock_.monotonic();
    while (!ended_ && stream_.goes_on()) {
      request_.wait = greeted_ ? kWaitSlice : Duration::zero();
      auto page = co_await tables_.changes(table_, request_);
      if (page) {
        request_.start = table_store::FeedStart::kPlace;
        request_.place = page->next;
        if (!page->changes.empty()) co_return text_of(*page);
      } else if (ends(page.error().code)) {
        ended_ = true;
        co_return "event: end\ndata: " + json_text(problem_json(page.error(), request_id_)) + "\n\n";
      } else {
        co_await sleep_for(clock_, kRetry);  // a store that is away for a moment must not end the stream
      }
      if (!std::exchange(greeted_, true) || clock_.monotonic() - said >= kKeepAlive) co_return still();
    }
    co_return std::string();
  }

 private:
  static bool ends(ErrorCode code) { return code == ErrorCode::kChangesExpired || code == ErrorCode::kFeedNotFound; }

  [[nodiscard]] std::string still() const {
    const bool placed = request_.start == table_store::FeedStart::kPlace;
    return (placed ? "id: " + feeds::token_of(table_, request_.place) + "\n" : std::string()) + ": still\n\n";
  }

  std::string text_of(const FeedPage& page) {
    greeted_ = true;
    std::string out;
    each_change(table_, page, [&out](const table_store::Change& change, const std::string& token) {
      out += "id: " + token + "\nevent: change\ndata: ";
      feeds::append_change(out, change, token);
      out += "\n\n";
    });
    return out;
  }

  table_store::TableClient& tables_;
  Clock& clock_;
  std::string table_;
  FeedRequest request_;
  std::string request_id_;
  EventStream stream_;
  bool greeted_ = false;
  bool ended_ = false;
};

Result<http::Response> stream_of_changes(Api& api, const http::Request& request, Caller caller, std::string table,
                                         FeedRequest asked) {
  auto slot = api.streams.take();
  if (!slot) {
    return fail(ErrorCode::kServerBusy,
                "As many streams of events are open as max_event_streams allows. Ask for pages with wait=30, or try "
                "again later.");
  }
  http::Response response;
  response.set("Content-Type", "text/event-stream");
  response.set("Cache-Control", "no-store");
  response.source = std::make_unique<ChangeEvents>(api, std::move(table), std::move(asked), request.request_id,
                                                   EventStream(api, request, std::move(caller), std::move(slot)));
  return response;
}

Answer list_changes(Api& api, http::Request& request, Action& action, std::string table) {
  CO_TRY(check_table_name(table));
  const auto parameters = CO_TRY(Parameters::read(request));
  auto asked = CO_TRY(read_asked(request, parameters, table));
  CO_TRY(check_values(asked.request, CO_TRY(co_await api.tables.feed(table, {})).feed));
  const bool stream = request.header("accept").value_or("").find("text/event-stream") != std::string_view::npos;
  if (stream) {
    // Report a missing right, or changes that are gone, at once.
    auto probe = asked.request;
    probe.limit = 1;
    const auto first = CO_TRY(co_await api.tables.changes(table, probe));
    if (asked.request.start == table_store::FeedStart::kNow) {
      asked.request.start = table_store::FeedStart::kPlace;
      asked.request.place = first.next;
    }
    co_return stream_of_changes(api, request, std::move(action.caller), std::move(table), std::move(asked.request));
  }
  const auto page = CO_TRY(co_await await_changes(api, request, table, std::move(asked.request), asked.wait));
  auto response = json_response(200, {});
  response.body = "{" + page_members(table, page) + "}";
  co_return response;
}

}  // namespace

std::span<const Route> feed_routes() {
  static constexpr Route kRoutes[] = {
      {"PUT", "v1/tables/*/feed", Role::kOperator, put_feed},
      {"GET", "v1/tables/*/feed", Role::kViewer, show_feed},
      {"DELETE", "v1/tables/*/feed", Role::kAdmin, drop_feed},
      {"GET", "v1/tables/*/changes", Role::kViewer, list_changes},
  };
  return kRoutes;
}

nlohmann::ordered_json feed_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<feeds::FeedSpec>(out);
  jobs::add_answers<ShownFeed, ShownPage>(out);
  return out;
}

}  // namespace tidemark::api
