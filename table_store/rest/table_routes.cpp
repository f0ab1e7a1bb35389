#include "table_store/rest/table_routes.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "table_store/model/limits.h"
#include "table_store/rest/batch_routes.h"
#include "table_store/rest/entity_routes.h"
#include "table_store/rest/fencing.h"
#include "table_store/rest/query_routes.h"
#include "table_store/rest/table_errors.h"
#include "table_store/rest/tables_routes.h"

namespace tidemark::table_store {
namespace {

/// Chooses the form of a refusal, which may come before the URL was parsed.
bool speaks_xml(const Call& call) {
  const auto accept = call.http.header("accept");
  if (accept && accept->find("application/xml") != std::string_view::npos) return true;
  return call.parameter("comp") == "acl" || call.parameter("restype") == "service";
}

bool is_write(std::string_view method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

/// Tells whether the operation answers in XML whatever Accept says.
bool speaks_xml_only(const Call& call) {
  return call.url.kind == UrlKind::kAccount || (call.url.kind == UrlKind::kEntities && call.parameter("comp") == "acl");
}

/// Checks an operation on a table of storage analytics, which users may only read and delete from.
Result<void> check_metrics_access(const Call& call) {
  const bool reads = call.method == "GET" || call.method == "HEAD";
  const bool erases = call.method == "DELETE" && call.url.kind == UrlKind::kEntity;
  if (reads || erases || !is_metrics_table(call.url.table)) return {};
  return fail(ErrorCode::kInsufficientAccountPermissions, "Metrics of storage analytics can be read and deleted only.");
}

/// Reads the target and the form of the answer, once the caller is authenticated.
Result<void> read_request(Call& call) {
  call.method = TRY(effective_method(call.http.method, call.http.headers));
  call.url = TRY(parse_table_url(call.resource.rest));
  call.read = true;
  call.batch = call.url.kind == UrlKind::kBatch;
  if (call.resource.secondary && is_write(call.method)) {
    return fail(ErrorCode::kInsufficientAccountPermissions);
  }
  TRY(check_metrics_access(call));
  if (speaks_xml_only(call)) return {};
  call.base = call.endpoint();
  if (call.batch) return {};  // each operation states its own media type
  call.level = TRY(metadata_level(call.parameter("$format"), call.http.header("accept")));
  return {};
}

Answer get_properties(Call& call) { co_return call.front.get_properties(call); }

Answer set_properties(Call& call) {
  co_return co_await call.front.set_properties(
      call, CO_TRY(co_await call.http.body->read_all(protocol::kMaxServicePropertiesBytes)));
}

Answer get_stats(Call& call) { co_return call.front.get_stats(call); }

Answer get_delegation_key(Call& call) {
  const auto body = CO_TRY(co_await call.http.body->read_all(service::kMaxKeyInfoBytes));
  co_return call.front.get_delegation_key(call, body);
}

struct Route {
  UrlKind kind;
  std::string_view method;         // GET includes HEAD for accounts, and where `comp` is "acl"
  std::string_view comp;           // of accounts and of tables; the others have none
  analytics::Operation named;      // in logs and metrics; empty: not at all
  std::optional<auth::Need> need;  // nothing: the route itself checks the permission, which depends on the body
  Answer (*run)(Call&);
  analytics::Operation with_condition = {};  // takes the place of `named` if there is a header If-Match
};

/// Only an account key or an account SAS grants these permissions.
constexpr auth::Need owner(auth::ResourceType type, std::string_view any_of) { return {type, any_of, {}, false}; }
constexpr auth::Need kAclNeed{auth::ResourceType::kContainer, "", {}, false, false};

using enum UrlKind;
using enum auth::ResourceType;
using enum analytics::Access;
using enum analytics::Effect;
// clang-format off
constexpr Route kRoutes[] = {
    {kAccount, "GET", "properties", {"GetTableServiceProperties", kRead}, owner(kService, "r"), get_properties},
    {kAccount, "PUT", "properties", {"SetTableServiceProperties", kWrite}, owner(kService, "w"), set_properties},
    {kAccount, "GET", "stats", {"GetTableServiceStats", kRead}, owner(kService, "r"), get_stats},
    {kAccount, "POST", "userdelegationkey", {}, owner(kService, "k"), get_delegation_key},
    {kTables, "GET", "", {"QueryTables", kRead}, owner(kContainer, "l"), list_tables},
    {kTables, "POST", "", {"CreateTable", kWrite}, owner(kContainer, "cw"), create_table},
    {kTable, "GET", "", {"QueryTable", kRead}, owner(kContainer, "l"), get_table},
    {kTable, "DELETE", "", {"DeleteTable", kDelete, kRemovesUnit}, owner(kContainer, "d"), delete_table},
    {kBatch, "POST", "", {"EntityGroupTransaction", kWrite}, {}, serve_batch},
    // The SAS of a table does not reach beyond its table, but an operation may.
    {kOperation, "GET", "", {}, owner(kObject, "r"), serve_operation},
    {kOperation, "POST", "", {}, owner(kObject, "u"), serve_operation},
    {kOperation, "DELETE", "", {}, owner(kObject, "u"), serve_operation},
    {kEntities, "GET", "acl", {"GetTableACL", kRead}, kAclNeed, get_acl},
    {kEntities, "PUT", "acl", {"SetTableACL", kWrite}, kAclNeed, set_acl},
    {kEntities, "GET", "", {"QueryEntities", kRead}, {}, query_entities},
    {kEntities, "POST", "", {"InsertEntity", kWrite, kAddsBytes}, {}, write_entity},
    {kEntity, "GET", "", {"QueryEntity", kRead}, {}, get_entity_anywhere},
    {kEntity, "PUT", "", {"InsertOrReplaceEntity", kWrite, kAddsBytes}, {}, write_entity, {"UpdateEntity", kWrite, kAddsBytes}},
    {kEntity, "PATCH", "", {"InsertOrMergeEntity", kWrite, kAddsBytes}, {}, write_entity, {"MergeEntity", kWrite, kAddsBytes}},
    {kEntity, "MERGE", "", {"InsertOrMergeEntity", kWrite, kAddsBytes}, {}, write_entity, {"MergeEntity", kWrite, kAddsBytes}},
    {kEntity, "DELETE", "", {"DeleteEntity", kDelete}, {}, write_entity},
};
// clang-format on

/// Returns null if there is no such operation.
const Route* find_route(UrlKind kind, std::string_view method, std::optional<std::string_view> comp) {
  const bool has_comp = kind == kAccount || (kind == kEntities && comp == "acl");
  if (method == "HEAD" && has_comp) method = "GET";
  const auto* found = std::ranges::find_if(kRoutes, [&](const Route& each) {
    return each.kind == kind && each.method == method && each.comp == (has_comp ? comp.value_or("") : "");
  });
  return found == std::end(kRoutes) ? nullptr : found;
}

Error unknown_operation(const Call& call) {
  const auto comp = call.parameter("comp").value_or("");
  const bool known = comp == "properties" || comp == "stats";
  if (call.url.kind == kAccount && !known) return make_error(ErrorCode::kInvalidUri);
  return make_error(ErrorCode::kMethodNotAllowed);
}

bool is_point_read(const Call& call) { return call.url.kind == UrlKind::kEntity && call.method == "GET"; }

}  // namespace

TableRoutes::TableRoutes(TableService& service, Clock& clock, Random& random, std::vector<auth::Account> accounts,
                         auth::Policy policy)
    : StoreFront({auth::Service::kTable, protocol::StoreKind::kTable,
                  make_error(ErrorCode::kInvalidInput, "The query of the URL cannot be read.")},
                 clock, std::move(accounts), policy, service),
      service_(service),
      random_(random) {}

/// Serves point reads, above all.
std::optional<Result<http::Response>> TableRoutes::answer_at_once(Call& call) {
  if (auto read = read_request(call); !read) return fail(std::move(read.error()));
  if (auto offered = check_options(call.parameters); !offered) return fail(std::move(offered.error()));
  if (is_point_read(call) && !service_.is_shared()) return get_entity(call);
  return std::nullopt;
}

Answer TableRoutes::answer(Call& call) {
  const auto* const route = find_route(call.url.kind, call.method, call.parameter("comp"));
  if (route == nullptr) co_return fail(unknown_operation(call));
  if (call.url.kind == kAccount && call.parameter("restype").value_or("service") != "service") {
    co_return fail(ErrorCode::kInvalidUri);
  }
  if (route->need) CO_TRY(call.allow(*route->need));
  co_return co_await route->run(call);
}

/// The request alone decides, so a refused one has a name as well.
analytics::Operation TableRoutes::operation_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  if (call.http.method == "OPTIONS") return {"TablePreflightRequest", kRead};
  if (call.batch) return {"EntityGroupTransaction", kWrite};
  auto kind = call.url.kind;
  auto method = call.method;
  if (!call.read) {  // the request was refused before its URL and method were read
    const auto of_request = effective_method(call.http.method, call.http.headers);
    const auto url = parse_table_url(call.resource.rest);
    if (!of_request || !url) return {};
    kind = url->kind;
    method = *of_request;
  }
  const auto* const route = find_route(kind, method, call.parameter("comp"));
  if (route == nullptr) return {};
  const bool conditional = !route->with_condition.name.empty() && call.http.header("if-match");
  return conditional ? route->with_condition : route->named;
}

std::string_view TableRoutes::name_of(const service::Call& given) const {
  const auto& call = static_cast<const Call&>(given);
  return call.read ? std::string_view(call.url.table) : std::string_view();
}

Task<Result<void>> TableRoutes::merge_properties(const std::string& account, std::string document) {
  return service_.call(calls::SetServiceProperties{account, std::move(document)});
}

Result<StoredPolicies> TableRoutes::policies_of(const service::Call& call, std::string_view resource) const {
  const auto table = call.parameters.find("tn");
  if (!table || !iequals_ascii(resource, *table)) return fail(ErrorCode::kTableNotFound);
  return service_.get_acl(call.account(), *table);
}

http::Response TableRoutes::render(const Error& error, const std::string& request_id, const service::Call* call) const {
  const bool xml = call != nullptr && speaks_xml(static_cast<const Call&>(*call));
  return error_response(error, xml ? ErrorForm::kXml : ErrorForm::kJson, request_id, now());
}

void TableRoutes::add_headers(const service::Call* request, bool failed, http::Response& response) const {
  response.set("Cache-Control", "no-cache");
  const auto* call = static_cast<const Call*>(request);
  const bool xml = call != nullptr && (failed ? speaks_xml(*call) : speaks_xml_only(*call));
  if (!xml) response.set("X-Content-Type-Options", "nosniff");
}

}  // namespace tidemark::table_store
