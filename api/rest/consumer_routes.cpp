// Consumer groups of change feeds: a stored position for a user's own workers, one reader at a time.
#include "api/rest/api_routes.h"
#include "api/rest/feed_pages.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/resource_names.h"
#include "feeds/tokens/start_token.h"
#include "feeds/tokens/token.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

using feeds::Consumer;
using nlohmann::json;

constexpr std::int64_t kLongestLeaseS = 3600;

struct GroupName {
  std::string table, group;
};

/// Reads "TABLE/GROUP".
Result<GroupName> group_name_in(const std::string& both) {
  const auto slash = both.find('/');
  GroupName name{both.substr(0, slash), both.substr(slash + 1)};
  TRY(check_table_name(name.table));
  if (feeds::is_group_name(name.group)) return name;
  return fail(ErrorCode::kInvalidInput,
              "A consumer group's name has 1 to 63 letters, digits, '.', '_' and '-', a letter or digit first.");
}

json consumer_json(const Consumer& consumer, Time now) {
  json out{{"group", consumer.group},
           {"token", consumer.token},
           {"epoch", consumer.epoch},
           {"createdAt", to_iso8601(consumer.created_at)}};
  if (consumer.acknowledged_at != Time{}) out["acknowledgedAt"] = to_iso8601(consumer.acknowledged_at);
  if (consumer.leased(now)) {
    out["reader"] = consumer.reader;
    out["leaseUntil"] = to_iso8601(consumer.lease_until);
  }
  return out;
}

/// Shows the consumers with the lag of each; all are of one table.
Task<Result<std::vector<json>>> show_all(Api& api, std::string table, std::vector<Consumer> consumers) {
  std::vector<table_store::FeedPlace> places;
  for (const auto& consumer : consumers) {
    places.push_back(feeds::parse_token(table, consumer.token).value_or(table_store::FeedPlace{}));
  }
  auto status = co_await api.tables.feed(std::move(table), places);
  const auto now = api.clock.now();
  std::vector<json> out;
  for (const auto& consumer : consumers) out.push_back(consumer_json(consumer, now));
  if (status.failed_with(ErrorCode::kFeedNotFound)) co_return out;
  const auto found = CO_TRY(std::move(status));
  for (std::size_t i = 0; i < out.size() && i < found.places.size(); ++i) add_lag(out[i], found.places[i], now);
  co_return out;
}

Answer answer_consumer(Api& api, unsigned http_status, std::string table, Consumer consumer) {
  const auto shown = CO_TRY(co_await show_all(api, std::move(table), {std::move(consumer)}));
  co_return json_response(http_status, shown.front());
}

Answer put_consumer(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  const auto body = CO_TRY(co_await read_json_object(request));
  jobs::SpecMembers in(body);
  std::string after = "now";
  const bool reset = in.text("after", after);
  CO_TRY(refuse_problems(in));
  auto token = CO_TRY(co_await feeds::token_for(api.tables, name.table, std::move(after)));
  auto stored = CO_TRY(co_await api.consumers.put(name.table, std::move(name.group), std::move(token), reset));
  co_return co_await answer_consumer(api, stored.created ? 201 : 200, std::move(name.table),
                                     std::move(stored.consumer));
}

Answer list_consumers(Api& api, http::Request&, std::string table) {
  CO_TRY(check_table_name(table));
  auto found = CO_TRY(co_await api.consumers.all(table));
  co_return json_response(200, {{"consumers", CO_TRY(co_await show_all(api, std::move(table), std::move(found)))}});
}

Answer show_consumer(Api& api, http::Request&, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  auto consumer = CO_TRY(co_await api.consumers.get(name.table, std::move(name.group)));
  co_return co_await answer_consumer(api, 200, std::move(name.table), std::move(consumer));
}

Answer remove_consumer(Api& api, http::Request&, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  CO_TRY(co_await api.consumers.remove(std::move(name.table), std::move(name.group)));
  co_return no_content();
}

struct ReadBody {
  std::string reader, acknowledged;
  std::optional<std::uint64_t> epoch;
  std::int64_t lease_s = 30, wait_s = 0;
  table_store::FeedRequest request;
};

Result<ReadBody> read_body(const json& body) {
  jobs::SpecMembers in(body);
  ReadBody out;
  if (in.text("reader", out.reader, true) && (out.reader.empty() || out.reader.size() > feeds::kMaxReaderBytes)) {
    in.problem("reader must have 1 to 100 bytes");
  }
  in.number("epoch", out.epoch, 1, std::numeric_limits<std::int64_t>::max());
  in.number("leaseSeconds", out.lease_s, 1, kLongestLeaseS);
  in.text("acknowledge", out.acknowledged);
  if (!out.acknowledged.empty() && !out.epoch) in.problem("acknowledge needs the epoch");
  in.number("limit", out.request.limit, 1, table_store::kMaxFeedChanges);
  in.number("wait", out.wait_s, 0, kLongestWaitS);
  in.flag("old", out.request.old_values);
  in.flag("new", out.request.new_values);
  in.property_names("select", out.request.select);
  const bool all = in.has("select") && !in.has("old") && !in.has("new");
  if (all) out.request.old_values = out.request.new_values = true;
  TRY(refuse_problems(in));
  return out;
}

Answer read_consumer(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  auto body = CO_TRY(read_body(CO_TRY(co_await read_json_object(request))));
  CO_TRY(check_values(body.request, CO_TRY(co_await api.tables.feed(name.table, {})).feed));
  if (!body.acknowledged.empty()) {
    CO_TRY(feeds::parse_token(name.table, body.acknowledged));
    CO_TRY(co_await api.consumers.acknowledge(name.table, name.group, *body.epoch, body.acknowledged, false));
  }
  const auto wait = std::chrono::seconds(body.wait_s);
  const auto consumer = CO_TRY(co_await api.consumers.lease(name.table, name.group, std::move(body.reader), body.epoch,
                                                            std::chrono::seconds(body.lease_s), wait));
  body.request.place = CO_TRY(feeds::parse_token(name.table, consumer.token));
  const auto page = CO_TRY(co_await await_changes(api, request, name.table, std::move(body.request), wait));
  auto response = json_response(200, consumer_json(consumer, api.clock.now()));
  response.body.back() = ',';
  response.body += page_members(name.table, page) + "}";
  co_return response;
}

Answer acknowledge(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  const auto body = CO_TRY(co_await read_json_object(request));
  jobs::SpecMembers in(body);
  std::uint64_t epoch = 0;
  std::string token;
  bool leaves = false;
  if (!in.number("epoch", epoch, 1, std::numeric_limits<std::int64_t>::max()) && !in.has("epoch")) {
    in.problem("epoch is missing: it is in the answer to read");
  }
  in.text("token", token);
  in.flag("leave", leaves);
  if (token.empty() && !leaves) in.problem("token is missing: next, or that of a change");
  CO_TRY(refuse_problems(in));
  if (!token.empty()) CO_TRY(feeds::parse_token(name.table, token));
  auto consumer =
      CO_TRY(co_await api.consumers.acknowledge(name.table, std::move(name.group), epoch, std::move(token), leaves));
  co_return co_await answer_consumer(api, 200, std::move(name.table), std::move(consumer));
}

}  // namespace

std::span<const Route> consumer_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/tables/*/consumers", Role::kViewer, list_consumers},
      {"PUT", "v1/tables/*/consumers/*", Role::kOperator, put_consumer},
      {"GET", "v1/tables/*/consumers/*", Role::kViewer, show_consumer},
      {"DELETE", "v1/tables/*/consumers/*", Role::kOperator, remove_consumer},
      {"POST", "v1/tables/*/consumers/*/read", Role::kOperator, read_consumer, Entrance::kToken, Trail::kNone},
      {"POST", "v1/tables/*/consumers/*/acknowledge", Role::kOperator, acknowledge, Entrance::kToken, Trail::kNone},
  };
  return kRoutes;
}

}  // namespace tidemark::api
