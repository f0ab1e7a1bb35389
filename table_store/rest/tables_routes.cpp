#include "table_store/rest/tables_routes.h"

#include "common/protocol/stored_policies.h"
#include "common/protocol/xml.h"
#include "table_store/rest/continuation.h"
#include "table_store/rest/query_routes.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kTablePermissions = "raud";

auth::Need container_need(std::string_view letters) { return {auth::ResourceType::kContainer, letters, {}, false}; }

Task<Result<http::Response>> list_tables(Call& call) {
  auto filter = Filter::parse(call.parameter("$filter").value_or(""));
  if (!filter) co_return fail(std::move(filter.error()));
  auto top = parse_top(call.parameter("$top"));
  if (!top) co_return fail(std::move(top.error()));
  auto from = decode_token(call.parameter("NextTableName").value_or(""));
  if (!from) co_return fail(std::move(from.error()));
  auto task = call.service.list_tables(call.account(), std::move(*filter), *top, std::move(*from));
  auto page = co_await std::move(task);
  if (!page) co_return fail(std::move(page.error()));
  http::Response response;
  response.set("Content-Type", std::string(json_content_type(call.level)));
  if (page->next) response.set("x-ms-continuation-NextTableName", encode_token(*page->next));
  append_table_list(response.body, call.scope(), page->names);
  co_return response;
}

Task<Result<http::Response>> get_table(Call& call) {
  auto task = call.service.find_table(call.account(), call.url.table);
  auto name = co_await std::move(task);
  if (name.failed_with(ErrorCode::kTableNotFound)) co_return fail(ErrorCode::kResourceNotFound);
  if (!name) co_return fail(std::move(name.error()));
  http::Response response;
  response.set("Content-Type", std::string(json_content_type(call.level)));
  auto scope = call.scope();
  scope.table = *name;
  append_table_answer(response.body, scope);
  co_return response;
}

Task<Result<http::Response>> create_table(Call& call) {
  if (auto typed = check_body_type(call.http.header("content-type")); !typed) co_return fail(std::move(typed.error()));
  auto read = call.http.body->read_all(kMaxBody);
  auto body = co_await std::move(read);
  if (!body) co_return fail(std::move(body.error()));
  auto name = parse_table_json(*body);
  if (!name) co_return fail(std::move(name.error()));
  auto task = call.service.create_table(call.account(), *name);
  auto created = co_await std::move(task);
  if (!created) co_return fail(std::move(created.error()));
  http::Response response;
  auto location = call.base + "/Tables('" + *name + "')";
  auto prefer = parse_prefer(call.http.header("prefer"));
  response.set("Location", location);
  if (prefer == Prefer::kNoContent) {
    response.status = 204;
    response.set("DataServiceId", location);
    response.set("Preference-Applied", "return-no-content");
    co_return response;
  }
  response.status = 201;
  if (prefer == Prefer::kContent) response.set("Preference-Applied", "return-content");
  response.set("Content-Type", std::string(json_content_type(call.level)));
  auto scope = call.scope();
  scope.table = *name;
  append_table_answer(response.body, scope);
  co_return response;
}

Task<Result<http::Response>> delete_table(Call& call) {
  auto task = call.service.delete_table(call.account(), call.url.table);
  auto done = co_await std::move(task);
  if (done.failed_with(ErrorCode::kTableNotFound)) co_return fail(ErrorCode::kResourceNotFound);
  if (!done) co_return fail(std::move(done.error()));
  http::Response response;
  response.status = 204;
  co_return response;
}

}  // namespace

Task<Result<http::Response>> serve_tables(Call& call) {
  bool set = call.url.kind == UrlKind::kTables;
  using Route = Task<Result<http::Response>> (*)(Call&);
  Route route = nullptr;
  std::string_view letters;
  if (call.method == "GET") {
    route = set ? list_tables : get_table;
    letters = "l";
  } else if (call.method == "POST" && set) {
    route = create_table;
    letters = "cw";
  } else if (call.method == "DELETE" && !set) {
    route = delete_table;
    letters = "d";
  }
  if (route == nullptr) co_return fail(ErrorCode::kMethodNotAllowed);
  if (auto allowed = call.allow(container_need(letters)); !allowed) co_return fail(std::move(allowed.error()));
  auto task = route(call);
  auto response = co_await std::move(task);
  co_return std::move(response);
}

Task<Result<http::Response>> serve_acl(Call& call) {
  auto need = container_need("");
  need.any_sas = false;
  if (auto allowed = call.allow(need); !allowed) co_return fail(std::move(allowed.error()));
  http::Response response;
  if (call.method == "GET" || call.method == "HEAD") {
    auto policies = call.service.get_acl(call.account(), call.url.table);
    if (!policies) co_return fail(std::move(policies.error()));
    response.set("Content-Type", "application/xml");
    response.body = std::string(protocol::kXmlDeclaration) + protocol::render_stored_policies(*policies);
    co_return response;
  }
  if (call.method != "PUT") co_return fail(ErrorCode::kMethodNotAllowed);
  auto read = call.http.body->read_all(protocol::kMaxStoredPoliciesBytes);
  auto body = co_await std::move(read);
  if (!body) co_return fail(std::move(body.error()));
  auto policies = protocol::parse_stored_policies(*body, kTablePermissions);
  if (!policies) co_return fail(std::move(policies.error()));
  auto task = call.service.set_acl(call.account(), call.url.table, std::move(*policies));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  response.status = 204;
  co_return response;
}

}  // namespace tidemark::table_store
