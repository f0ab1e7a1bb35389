#include "table_store/rest/tables_routes.h"

#include <algorithm>

#include "common/protocol/responses.h"
#include "common/protocol/stored_policies.h"
#include "common/protocol/xml.h"
#include "table_store/model/limits.h"
#include "table_store/rest/continuation.h"
#include "table_store/rest/query_routes.h"

namespace tidemark::table_store {
namespace {

constexpr std::string_view kTablePermissions = "raud";

}  // namespace

Answer list_tables(Call& call) {
  auto filter = CO_TRY(Filter::parse(call.parameter("$filter").value_or("")));
  auto top = CO_TRY(parse_top(call.parameter("$top")));
  auto from = CO_TRY(decode_token(call.parameter("NextTableName").value_or("")));
  auto page =
      CO_TRY(co_await call.service.list_tables(call.account(), std::move(filter), std::max(top, 1U), std::move(from)));
  if (top == 0) page = {};
  http::Response response;
  response.set("Content-Type", std::string(json_content_type(call.level)));
  if (page.next) response.set("x-ms-continuation-NextTableName", encode_token(*page.next));
  append_table_list(response.body, call.scope(), page.names);
  co_return response;
}

Answer get_table(Call& call) {
  auto name = co_await call.service.find_table(call.account(), call.url.table);
  if (name.failed_with(ErrorCode::kTableNotFound)) co_return fail(ErrorCode::kResourceNotFound);
  if (!name) co_return fail(std::move(name.error()));
  http::Response response;
  response.set("Content-Type", std::string(json_content_type(call.level)));
  auto scope = call.scope();
  scope.table = *name;
  append_table_answer(response.body, scope);
  co_return response;
}

Answer create_table(Call& call) {
  CO_TRY(check_body_type(call.http.header("content-type")));
  auto body = CO_TRY(co_await call.http.body->read_all(kMaxBody));
  auto name = CO_TRY(parse_table_json(body));
  CO_TRY(check_table_name(name));
  const bool is_new = call.is_bounded() &&
                      (co_await call.service.find_table(call.account(), name)).failed_with(ErrorCode::kTableNotFound);
  if (is_new) CO_TRY(call.admit_unit());
  CO_TRY(co_await call.service.call(calls::CreateTable{call.account(), name}));
  http::Response response;
  auto scope = call.scope();
  scope.table = name;
  if (begin_created(response, call, call.base + "/Tables('" + name + "')")) append_table_answer(response.body, scope);
  co_return response;
}

Answer delete_table(Call& call) {
  auto done = co_await call.service.call(calls::DeleteTable{call.account(), call.url.table});
  if (done.failed_with(ErrorCode::kTableNotFound)) co_return fail(ErrorCode::kResourceNotFound);
  CO_TRY(std::move(done));
  co_return protocol::empty_response(204);
}

Answer get_acl(Call& call) {
  const auto policies = CO_TRY(call.service.get_acl(call.account(), call.url.table));
  co_return protocol::xml_response(200,
                                   std::string(protocol::kXmlDeclaration) + protocol::render_stored_policies(policies));
}

Answer set_acl(Call& call) {
  auto body = CO_TRY(co_await call.http.body->read_all(protocol::kMaxStoredPoliciesBytes));
  auto policies = CO_TRY(protocol::parse_stored_policies(body, kTablePermissions));
  CO_TRY(co_await call.service.call(calls::SetAcl{call.account(), call.url.table, std::move(policies)}));
  co_return protocol::empty_response(204);
}

}  // namespace tidemark::table_store
