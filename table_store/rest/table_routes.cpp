#include "table_store/rest/table_routes.h"

#include "common/base/encoding.h"
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

using Route = Answer (*)(Call&);

Answer set_properties(Call& call) {
  co_return co_await call.front.set_properties(
      call, CO_TRY(co_await call.http.body->read_all(protocol::kMaxServicePropertiesBytes)));
}

Answer get_delegation_key(Call& call) {
  CO_TRY(call.allow({auth::ResourceType::kService, "k", {}, false}));
  const auto body = CO_TRY(co_await call.http.body->read_all(service::kMaxKeyInfoBytes));
  co_return call.front.get_delegation_key(call, body);
}

/// Serves GET and PUT ?restype=service&comp=properties, GET ?restype=service&comp=stats,
/// and POST ?restype=service&comp=userdelegationkey.
Answer serve_account(Call& call) {
  const bool reads = call.method == "GET" || call.method == "HEAD";
  const auto comp = call.parameter("comp").value_or("");
  if (comp == "userdelegationkey" && call.method == "POST") co_return co_await get_delegation_key(call);
  const bool known = comp == "properties" || comp == "stats";
  if (!known || call.parameter("restype").value_or("service") != "service") co_return fail(ErrorCode::kInvalidUri);
  if (!reads && (comp == "stats" || call.method != "PUT")) co_return fail(ErrorCode::kMethodNotAllowed);
  CO_TRY(call.allow({auth::ResourceType::kService, reads ? "r" : "w", {}, false}));
  if (!reads) co_return co_await set_properties(call);
  co_return comp == "stats" ? call.front.get_stats(call) : call.front.get_properties(call);
}

/// Returns null if there is no such resource or verb.
Route find_route(const Call& call) {
  switch (call.url.kind) {
    case UrlKind::kAccount:
      return serve_account;
    case UrlKind::kTables:
    case UrlKind::kTable:
      return serve_tables;
    case UrlKind::kBatch:
      return serve_batch;
    case UrlKind::kOperation:
      return serve_operation;
    case UrlKind::kEntities:
      if (call.parameter("comp") == "acl") return serve_acl;
      return call.method == "GET" ? query_entities : write_entity;
    case UrlKind::kEntity:
      return write_entity;
  }
  return nullptr;
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
  if (is_point_read(call) && !service_.is_shared()) return get_entity(call);
  return std::nullopt;
}

Answer TableRoutes::answer(Call& call) {
  if (is_point_read(call)) co_return co_await get_entity_anywhere(call);
  const auto route = find_route(call);
  if (route == nullptr) co_return fail(ErrorCode::kMethodNotAllowed);
  co_return co_await route(call);
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
