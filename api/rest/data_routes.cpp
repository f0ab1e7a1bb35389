// The contents of tables and queues, for people: entities found by a filter, one entity to look at and to edit, and the
// messages of a queue in order, including those that nobody can take now.
#include "api/rest/api_routes.h"
#include "api/rest/filter_access.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/resource_names.h"
#include "common/base/encoding.h"
#include "common/base/side_by_side.h"
#include "jobs/spec/spec_members.h"
#include "jobs/store/rows.h"
#include "table_store/odata/entity_text.h"
#include "table_store/odata/etag.h"
#include "table_store/odata/odata_json.h"

namespace tidemark::api {
namespace {

using table_store::Entity;
using table_store::Mutation;
using table_store::MutationKind;

constexpr std::size_t kMaxEntityBytes = 4UL << 20;  // as JSON
constexpr Duration kPlanPatience = std::chrono::milliseconds(1);

http::Response json_text_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "application/json");
  response.set("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

constexpr std::uint32_t kMostEntitiesCounted = 1000;  // in a table
constexpr std::uint32_t kMostTablesCounted = 100;     // on a page
constexpr Duration kCountPatience = std::chrono::milliseconds(20);

struct ListedTable {
  std::string name;
  std::optional<std::uint64_t> entities;
  std::optional<bool> complete;
  static constexpr const char* kSchema = "ListedTable";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", name);
    to.shows("entities", entities, {.meaning = "if asked for: how many there are, counted up to 1,000"});
    to.shows("complete", complete, {.meaning = "false: there may be more entities than were counted"});
  }
};

/// Counts the entities of each table up to a bound; one that is dropped meanwhile has no count.
Task<Result<void>> count_entities(Api& api, std::vector<ListedTable>& tables) {
  Step step = [&](std::size_t number) -> Task<Result<void>> {
    auto& table = tables[number];
    table_store::QueryRequest query;
    query.table = table.name;
    query.top = kMostEntitiesCounted;
    query.count_only = true;
    query.patience = kCountPatience;
    auto page = co_await api.tables.query(std::move(query));
    if (page.failed_with(ErrorCode::kTableNotFound)) co_return Result<void>();
    const auto counted = CO_TRY(std::move(page));
    table.entities = counted.count;
    table.complete = counted.continuation.empty();
    co_return Result<void>();
  };
  co_return co_await side_by_side(api.clock, tables.size(), std::move(step));
}

Answer list_tables(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const bool counts = CO_TRY(parameters.flag("counts"));
  const auto limit = std::min(CO_TRY(parameters.limit()), counts ? kMostTablesCounted : UINT32_MAX);
  const auto after = to_lower_ascii(parameters.text("continuation"));
  const auto prefix = to_lower_ascii(parameters.text("prefix"));
  auto names = CO_TRY(co_await api.tables.list_tables());
  std::erase_if(names, [&](const std::string& name) { return to_lower_ascii(name) <= after; });
  std::erase_if(names, [&](const std::string& name) { return !to_lower_ascii(name).starts_with(prefix); });
  std::string continuation;
  if (names.size() > limit) {
    names.resize(limit);
    continuation = names.back();
  }
  std::vector<ListedTable> tables;
  tables.reserve(names.size());
  for (auto& name : names) tables.push_back({std::move(name), {}, {}});
  if (counts) CO_TRY(co_await count_entities(api, tables));
  co_return page_response("tables", tables, continuation, [](const ListedTable& table) { return json_of(table); });
}

struct ShownTable {
  std::string name;
  bool feed = false;
  std::vector<std::string> indexes;
  static constexpr const char* kSchema = "Table";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", name, {.meaning = "as it was given when the table was made; it matches in any case"});
    to.shows("feed", feed, {.meaning = "it keeps its changes for readers"});
    to.shows("indexes", indexes, {.meaning = "the indexes of its entities"});
  }
};

/// Returns nothing if there is no such table.
Task<Result<std::optional<ShownTable>>> find_table(Api& api, const std::string& name) {
  const auto names = CO_TRY(co_await api.tables.list_tables());
  const auto found = std::ranges::find_if(names, [&](const auto& each) { return iequals_ascii(each, name); });
  if (found == names.end()) co_return std::optional<ShownTable>();
  ShownTable out;
  out.name = *found;
  const auto feed = co_await api.tables.feed(name, {});
  if (!feed && !feed.failed_with(ErrorCode::kFeedNotFound)) co_return fail(feed.error());
  out.feed = feed.has_value();
  for (auto& index : CO_TRY(co_await api.indexes.all())) {
    if (iequals_ascii(index.definition.entities(), name)) out.indexes.push_back(std::move(index.name));
  }
  co_return out;
}

Answer show_table(Api& api, std::string name, unsigned status) {
  const auto found = CO_TRY(co_await find_table(api, name));
  if (!found) co_return fail(ErrorCode::kTableNotFound);
  co_return json_response(status, json_of(*found));
}

Answer get_table(Api& api, http::Request&, std::string table) {
  CO_TRY(check_table_name(table));
  co_return co_await show_table(api, std::move(table), 200);
}

Answer make_table(Api& api, http::Request&, std::string table) {
  CO_TRY(check_may_change_table(table));
  auto made = co_await api.tables.create_table(table);
  const bool existed = made.failed_with(ErrorCode::kTableAlreadyExists);
  if (!made && !existed) co_return fail(std::move(made.error()));
  co_return co_await show_table(api, std::move(table), existed ? 200 : 201);
}

Answer drop_table(Api& api, http::Request&, std::string table) {
  CO_TRY(check_may_change_table(table));
  auto dropped = co_await api.tables.delete_table(table);
  if (dropped.failed_with(ErrorCode::kResourceNotFound)) co_return fail(ErrorCode::kTableNotFound);
  CO_TRY(std::move(dropped));
  co_return no_content();
}

Result<FilterAccess> access_of_text(const std::string& filter) {
  return access_of(TRY(table_store::Filter::parse(filter)));
}

/// Returns the index whose lists the table store would use for the filter at present; empty: none. Only the store knows
/// which lists are complete, so it is asked by the least query.
Task<Result<std::string>> index_for(Api& api, std::string table, std::string filter) {
  table_store::QueryRequest query;
  query.table = std::move(table);
  query.filter = std::move(filter);
  query.top = 1;
  query.count_only = true;
  query.by_lists = true;
  query.patience = kPlanPatience;
  auto page = co_await api.tables.query(std::move(query));
  if (page.failed_with(ErrorCode::kTableNotFound)) co_return std::string();
  co_return CO_TRY(std::move(page)).index;
}

/// Checks a filter, and tells how much a query with it reads; changes nothing.
Answer plan_query(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_table_name(table));
  auto parameters = CO_TRY(Parameters::read(request));
  auto filter = parameters.text("filter");
  const auto access = CO_TRY(access_of_text(filter));
  nlohmann::json plan{{"access", access_name(access)}};
  if (access != FilterAccess::kPoint && !filter.empty()) {
    auto index = CO_TRY(co_await index_for(api, std::move(table), std::move(filter)));
    if (!index.empty()) plan["index"] = std::move(index);
  }
  co_return json_response(200, plan);
}

Answer query_entities(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_table_name(table));
  auto parameters = CO_TRY(Parameters::read(request));
  table_store::QueryRequest query;
  query.table = std::move(table);
  query.filter = parameters.text("filter");
  query.top = CO_TRY(parameters.limit());
  query.continuation = parameters.text("continuation");
  query.patience = jobs::kSearchPatience;
  query.by_lists = true;
  const auto access = CO_TRY(access_of_text(query.filter));
  const auto page = CO_TRY(co_await api.tables.query(std::move(query)));
  std::string out = R"({"access":")" + std::string(access_name(access)) + R"(","entities":[)";
  for (const auto& entity : page.entities) {
    if (out.back() != '[') out += ',';
    table_store::append_entity_text(out, entity);
  }
  out += R"(],"searched":)" + std::to_string(page.searched);
  if (!page.index.empty()) {
    out += R"(,"index":)";
    table_store::append_json_string(out, page.index);
  }
  if (!page.continuation.empty()) {
    out += R"(,"continuation":)";
    table_store::append_json_string(out, page.continuation);
  }
  co_return json_text_response(out + '}');
}

struct EntityName {
  std::string partition_key, row_key;
};

Result<EntityName> read_name(const http::Request& request) {
  const auto parameters = TRY(Parameters::read(request));
  EntityName name{parameters.text("partitionKey"), parameters.text("rowKey")};
  const bool both = parameters.has("partitionKey") && parameters.has("rowKey");
  if (both && is_valid_utf8(name.partition_key) && is_valid_utf8(name.row_key)) return name;
  return fail(ErrorCode::kInvalidQueryParameterValue,
              "partitionKey and rowKey, the keys of an entity, are both needed.");
}

Answer show(Api& api, std::string table, EntityName name, unsigned status = 200) {
  const auto found = CO_TRY(co_await api.tables.get(table, name.partition_key, name.row_key));
  if (!found) {
    co_return fail(ErrorCode::kResourceNotFound, "Table " + table + " has no entity with PartitionKey \"" +
                                                     name.partition_key + "\" and RowKey \"" + name.row_key + "\".");
  }
  std::string out;
  table_store::append_entity_text(out, *found);
  auto response = json_text_response(std::move(out));
  response.status = status;
  response.set("ETag", table_store::etag_of(found->version));
  co_return response;
}

Answer show_entity(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_table_name(table));
  co_return co_await show(api, std::move(table), CO_TRY(read_name(request)));
}

/// Returns the version that the entity must have; a change without one could undo another user's latest change.
Result<std::optional<table_store::Version>> wanted_version(const http::Request& request) {
  const auto header = request.header("if-match");
  if (!header) {
    return fail(ErrorCode::kMissingRequiredHeader,
                "If-Match is needed: the ETag of the entity as it was read, or * for any.");
  }
  return table_store::parse_if_match(*header);
}

Answer write_entity(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_may_change_table(table));
  const auto name = CO_TRY(read_name(request));
  auto body = CO_TRY(table_store::parse_entity_json(CO_TRY(co_await request.body->read_all(kMaxEntityBytes))));
  if (body.partition_key.value_or(name.partition_key) != name.partition_key ||
      body.row_key.value_or(name.row_key) != name.row_key) {
    co_return fail(ErrorCode::kInvalidInput, "The keys in the body are not those in the address.");
  }
  const bool insert = request.header("if-none-match") == "*";
  if (insert && request.header("if-match")) {
    co_return fail(ErrorCode::kInvalidInput, "If-Match and If-None-Match contradict each other: give one of them.");
  }
  Mutation mutation;
  mutation.kind = insert ? MutationKind::kInsert : MutationKind::kReplace;
  mutation.row_key = name.row_key;
  if (!insert) mutation.if_version = CO_TRY(wanted_version(request));
  mutation.properties = std::move(body.properties);
  std::vector<Mutation> mutations;
  mutations.push_back(std::move(mutation));
  CO_TRY(co_await api.tables.mutate(table, name.partition_key, std::move(mutations), std::nullopt));
  co_return co_await show(api, std::move(table), name, insert ? 201 : 200);
}

Answer erase_entity(Api& api, http::Request& request, std::string table) {
  CO_TRY(check_may_change_table(table));
  const auto name = CO_TRY(read_name(request));
  Mutation mutation;
  mutation.kind = MutationKind::kErase;
  mutation.row_key = name.row_key;
  mutation.if_version = CO_TRY(wanted_version(request));
  std::vector<Mutation> mutations;
  mutations.push_back(std::move(mutation));
  CO_TRY(co_await api.tables.mutate(std::move(table), name.partition_key, std::move(mutations), std::nullopt));
  co_return no_content();
}

struct ShownMessage {
  queue_service::Message message;
  Time now{};
  static constexpr const char* kSchema = "QueuedMessage";
  void members(jobs::SpecMembers& to) const {
    const bool expires = message.expires != queue_service::kNeverExpires;
    to.shows("id", message.id);
    to.shows("text", message.text);
    to.shows("insertedAt", message.inserted);
    to.shows("expiresAt", expires ? std::optional(message.expires) : std::nullopt);
    to.shows("visible", message.next_visible <= now);
    to.shows("nextVisibleAt", message.next_visible);
    to.shows("dequeueCount", message.dequeue_count);
    to.shows_unless_empty("group", message.group);
  }
};

Answer list_messages(Api& api, http::Request& request, std::string queue) {
  CO_TRY(check_queue_name(queue));
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto page = CO_TRY(co_await api.queues.list(std::move(queue), limit, parameters.text("continuation")));
  co_return page_response("messages", page.messages, page.continuation,
                          [now = api.clock.now()](const auto& message) { return json_of(ShownMessage{message, now}); });
}

}  // namespace

std::span<const Route> data_routes() {
  static constexpr Route kRoutes[] = {
      {"GET", "v1/tables", Role::kViewer, list_tables},
      {"GET", "v1/tables/*", Role::kViewer, get_table},
      {"PUT", "v1/tables/*", Role::kOperator, make_table},
      {"DELETE", "v1/tables/*", Role::kAdmin, drop_table},
      {"GET", "v1/tables/*/plan", Role::kViewer, plan_query},
      {"GET", "v1/tables/*/entities", Role::kViewer, query_entities},
      {"GET", "v1/tables/*/entity", Role::kViewer, show_entity},
      {"PUT", "v1/tables/*/entity", Role::kOperator, write_entity},
      {"DELETE", "v1/tables/*/entity", Role::kOperator, erase_entity},
      {"GET", "v1/queues/*/messages", Role::kViewer, list_messages},
  };
  return kRoutes;
}

nlohmann::ordered_json data_schemas() {
  nlohmann::ordered_json out;
  jobs::add_answers<ShownMessage, ListedTable, ShownTable>(out);
  return out;
}

}  // namespace tidemark::api
