// The contents of tables and queues, for people: entities found by a filter, one entity to look at and to edit, and the
// messages of a queue in order, including those that nobody can take now.
#include "api/rest/api_routes.h"
#include "api/rest/filter_access.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/resource_names.h"
#include "common/base/encoding.h"
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

http::Response json_text_response(std::string body) {
  http::Response response;
  response.set("Content-Type", "application/json");
  response.set("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

Answer list_tables(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  const auto after = to_lower_ascii(parameters.text("continuation"));
  auto names = CO_TRY(co_await api.tables.list_tables());
  std::erase_if(names, [&](const std::string& name) { return to_lower_ascii(name) <= after; });
  std::string continuation;
  if (names.size() > limit) {
    names.resize(limit);
    continuation = names.back();
  }
  co_return page_response("tables", names, continuation,
                          [](const std::string& name) { return nlohmann::json{{"name", name}}; });
}

Result<FilterAccess> access_of_text(const std::string& filter) {
  return access_of(TRY(table_store::Filter::parse(filter)));
}

/// Checks a filter, and tells how much a query with it reads; changes nothing.
Answer plan_query(Api&, http::Request& request, std::string table) {
  CO_TRY(check_table_name(table));
  auto parameters = CO_TRY(Parameters::read(request));
  const auto access = CO_TRY(access_of_text(parameters.text("filter")));
  co_return json_response(200, {{"access", access_name(access)}});
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

Result<void> check_may_change_table(const std::string& table) {
  TRY(check_table_name(table));
  if (!jobs::is_own_table(table)) return {};
  return fail(
      ErrorCode::kAuthorizationPermissionMismatch,
      table + " belongs to Tidemark itself: jobs, schedules, indexes and limits are changed by their own operations.");
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
  jobs::add_answers<ShownMessage>(out);
  return out;
}

}  // namespace tidemark::api
