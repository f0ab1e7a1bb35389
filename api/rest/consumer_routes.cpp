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

struct ShownConsumer {
  Consumer consumer;
  ShownLag lag;
  static constexpr const char* kSchema = "Consumer";
  void members(jobs::SpecMembers& to) const {
    show(to);
    lag.members(to);
  }

 protected:
  void show(jobs::SpecMembers& to) const {
    const auto when = [](bool known, Time time) { return known ? std::optional(time) : std::nullopt; };
    const bool leased = consumer.leased(lag.now);
    to.shows("group", consumer.group);
    to.shows("token", consumer.token, {.meaning = "the group has dealt with everything up to here"});
    to.shows("epoch", consumer.epoch);
    to.shows("createdAt", consumer.created_at);
    to.shows("acknowledgedAt", when(consumer.acknowledged_at != Time{}, consumer.acknowledged_at));
    to.shows("reader", leased ? std::optional(consumer.reader) : std::nullopt, {.meaning = "who reads now"});
    to.shows("leaseUntil", when(leased, consumer.lease_until));
  }
};

/// The answer to a reader: the consumer without its lag, and a page of changes.
struct ShownRead : ShownConsumer {
  static constexpr const char* kSchema = "ConsumerPage";
  void members(jobs::SpecMembers& to) const {
    show(to);
    if (to.describes()) ShownPage::members(to);
  }
};

/// Shows the consumers with the lag of each; all are of one table.
Task<Result<std::vector<json>>> show_all(Api& api, std::string table, std::vector<Consumer> consumers) {
  std::vector<table_store::FeedPlace> places;
  for (const auto& consumer : consumers) {
    places.push_back(feeds::parse_token(table, consumer.token).value_or(table_store::FeedPlace{}));
  }
  auto status = co_await api.tables.feed(std::move(table), places);
  if (!status && !status.failed_with(ErrorCode::kFeedNotFound)) co_return fail(std::move(status.error()));
  const auto now = api.clock.now();
  std::vector<json> out;
  for (std::size_t i = 0; i < consumers.size(); ++i) {
    const bool known = status && i < status->places.size();
    ShownLag lag{known ? std::optional(status->places[i]) : std::nullopt, now};
    out.emplace_back(json_of(ShownConsumer{std::move(consumers[i]), lag}));
  }
  co_return out;
}

Answer answer_consumer(Api& api, unsigned http_status, std::string table, Consumer consumer) {
  const auto shown = CO_TRY(co_await show_all(api, std::move(table), {std::move(consumer)}));
  co_return json_response(http_status, shown.front());
}

struct ConsumerSpec {
  std::string after;
  static constexpr const char* kSchema = "ConsumerSpec";
  void members(jobs::SpecMembers& in) { in.text("after", after, kAboutAfter); }
  static constexpr jobs::About kAboutAfter{
      .meaning = "oldest, now or a token",
      .detail = "if absent, a new group begins now, and an existing one stays as it is"};
};

Answer put_consumer(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  auto after = CO_TRY(co_await read_members<ConsumerSpec>(request)).after;
  const bool reset = !after.empty();
  auto token = CO_TRY(co_await feeds::token_for(api.tables, name.table, reset ? std::move(after) : "now"));
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
  static constexpr const char* kSchema = "ConsumerRead";

  void members(jobs::SpecMembers& in) {
    if (in.text("reader", reader, true, kAboutReader) && (reader.empty() || reader.size() > feeds::kMaxReaderBytes)) {
      in.problem("reader must have 1 to 100 bytes");
    }
    in.number("epoch", epoch, 1, INT64_MAX, {.meaning = "from the answer before; if absent, a new reader begins"});
    in.number("leaseSeconds", lease_s, 1, kLongestLeaseS,
              {.meaning = "how long after the wait no other reader gets the group"});
    in.text("acknowledge", acknowledged, {.meaning = "token that is acknowledged before the page is read"});
    if (!acknowledged.empty() && !epoch) in.problem("acknowledge needs the epoch");
    in.number("limit", request.limit, 1, table_store::kMaxFeedChanges);
    in.number("wait", wait_s, 0, kLongestWaitS, {.meaning = "how many seconds to wait for the first change"});
    in.flag("old", request.old_values, {.meaning = "also the entities as they were before the changes"});
    in.flag("new", request.new_values, {.meaning = "also the entities as they were after the changes"});
    in.property_names("select", request.select, jobs::kTheseProperties);
    const bool all = in.has("select") && !in.has("old") && !in.has("new");
    if (all) request.old_values = request.new_values = true;
  }
  static constexpr jobs::About kAboutReader{
      .meaning = "name of the reader, which has the group for itself", .least = 1, .most = feeds::kMaxReaderBytes};
};

Answer read_consumer(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  auto body = CO_TRY(co_await read_members<ReadBody>(request));
  CO_TRY(check_values(body.request, CO_TRY(co_await api.tables.feed(name.table, {})).feed));
  if (!body.acknowledged.empty()) {
    CO_TRY(feeds::parse_token(name.table, body.acknowledged));
    CO_TRY(co_await api.consumers.acknowledge(name.table, name.group, *body.epoch, body.acknowledged, false));
  }
  const auto wait = std::chrono::seconds(body.wait_s);
  auto consumer = CO_TRY(co_await api.consumers.lease(name.table, name.group, std::move(body.reader), body.epoch,
                                                      std::chrono::seconds(body.lease_s), wait));
  body.request.place = CO_TRY(feeds::parse_token(name.table, consumer.token));
  const auto page = CO_TRY(co_await await_changes(api, request, name.table, std::move(body.request), wait));
  auto response = json_response(200, json_of(ShownRead{{std::move(consumer), {{}, api.clock.now()}}}));
  response.body.back() = ',';
  response.body += page_members(name.table, page) + "}";
  co_return response;
}

struct Acknowledgement {
  std::uint64_t epoch = 0;
  std::string token;
  bool leaves = false;
  static constexpr const char* kSchema = "ConsumerAcknowledgement";
  void members(jobs::SpecMembers& in) {
    in.number("epoch", epoch, 1, INT64_MAX, {.meaning = "from the answer to read"}, true);
    in.text("token", token, {.meaning = "next, or the token of a change"});
    in.flag("leave", leaves, {.meaning = "other readers may have the group at once"});
    if (token.empty() && !leaves) in.problem("token is missing: next, or that of a change");
  }
};

Answer acknowledge(Api& api, http::Request& request, std::string both) {
  auto name = CO_TRY(group_name_in(both));
  auto body = CO_TRY(co_await read_members<Acknowledgement>(request));
  if (!body.token.empty()) CO_TRY(feeds::parse_token(name.table, body.token));
  auto consumer = CO_TRY(co_await api.consumers.acknowledge(name.table, std::move(name.group), body.epoch,
                                                            std::move(body.token), body.leaves));
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

nlohmann::ordered_json consumer_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<ConsumerSpec, ReadBody, Acknowledgement>(out);
  jobs::add_answers<ShownConsumer, ShownRead>(out);
  return out;
}

}  // namespace tidemark::api
