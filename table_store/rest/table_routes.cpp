#include "table_store/rest/table_routes.h"

#include "common/base/encoding.h"
#include "common/protocol/stored_policies.h"
#include "table_store/rest/account_routes.h"
#include "table_store/rest/batch_routes.h"
#include "table_store/rest/entity_routes.h"
#include "table_store/rest/fencing.h"
#include "table_store/rest/query_routes.h"
#include "table_store/rest/table_errors.h"
#include "table_store/rest/tables_routes.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxClientRequestId = 1024;

/// "http://host" and, in path style, "/account" as the client wrote it.
std::string base_url(const http::Request& request, std::string_view host, const auth::Resource& resource, bool https) {
  auto prefix = request.path.substr(0, request.path.size() - resource.rest.size());
  while (prefix.ends_with('/')) prefix.remove_suffix(1);
  const std::string_view scheme = https ? "https://" : "http://";
  std::string out;
  out.reserve(scheme.size() + host.size() + prefix.size());
  return out.append(scheme).append(host).append(prefix);
}

/// The form of a refusal, which may come before the URL was understood.
bool speaks_xml(const Call& call) {
  auto accept = call.http.header("accept");
  if (accept && accept->find("application/xml") != std::string_view::npos) return true;
  return call.parameter("comp") == "acl" || call.parameter("restype") == "service";
}

bool is_write(std::string_view method) { return method != "GET" && method != "HEAD" && method != "OPTIONS"; }

/// Headers that every answer carries; those that echo the request only once the caller is known.
void add_common_headers(const Call& call, bool xml, http::Response& response) {
  const auto& request = call.http;
  response.set("x-ms-request-id", request.request_id);
  response.set("Cache-Control", "no-cache");
  if (!xml) response.set("X-Content-Type-Options", "nosniff");
  if (!call.authenticated) return;
  if (!call.identity.version.empty()) response.set("x-ms-version", call.identity.version);
  auto client_id = request.header("x-ms-client-request-id");
  if (client_id && client_id->size() <= kMaxClientRequestId) {
    response.set("x-ms-client-request-id", *client_id);
  }
}

/// Operations whose answers are XML whatever Accept says.
bool speaks_xml_only(const Call& call) {
  return call.url.kind == UrlKind::kAccount || (call.url.kind == UrlKind::kEntities && call.parameter("comp") == "acl");
}

/// What was asked for, once it is known who asks.
Result<void> read_request(Call& call) {
  call.method = TRY(effective_method(call.http.method, call.http.headers));
  call.url = TRY(parse_table_url(call.resource.rest));
  if (call.resource.secondary && is_write(call.method)) {
    return fail(ErrorCode::kInsufficientAccountPermissions);
  }
  if (speaks_xml_only(call)) return {};
  call.level = TRY(metadata_level(call.parameter("$format"), call.http.header("accept")));
  return {};
}

using Route = Task<Result<http::Response>> (*)(Call&);

/// Null: no such resource or verb. Point reads never come here.
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

/// Inside a batch an index belongs to an error; elsewhere it has no meaning.
void strip_index(Error& error) {
  std::erase_if(error.fields, [](const auto& field) { return field.first == "index"; });
}

}  // namespace

TableRoutes::TableRoutes(TableService& service, Clock& clock, Random& random, std::vector<auth::Account> accounts,
                         auth::Policy policy)
    : service_(service), clock_(clock), random_(random), accounts_(std::move(accounts)), policy_(policy) {
  for (const auto& account : accounts_) {
    cors_.refresh(account.name, [&] { return service_.get_service_properties(account.name); });
  }
}

Result<void> TableRoutes::authenticate(Call& call) const {
  auto table = call.parameter("tn");
  auth::PolicyLookup lookup = [&](std::string_view account, std::string_view resource,
                                  std::string_view id) -> Result<std::optional<StoredPolicy>> {
    std::optional<StoredPolicy> found;
    if (!table || !iequals_ascii(resource, *table)) return found;
    auto policies = service_.get_acl(account, *table);
    if (!policies) return found;
    return protocol::find_policy(*policies, id);
  };
  const auto& request = call.http;
  auth::SignedRequest signed_request{request.method,         request.path, request.query,   &request.headers,
                                     request.remote_address, call.host,    &call.parameters};
  call.identity = TRY(auth::authenticate(auth::Service::kTable, signed_request, call.resource, accounts_, clock_.now(),
                                         policy_, lookup));
  call.authenticated = true;
  return {};
}

Result<void> TableRoutes::admit(Call& call) const {
  const auto& request = call.http;
  call.host = request.header("host").value_or("");
  call.resource = TRY(auth::parse_resource(call.host, request.path, accounts_));
  auto parameters = QueryParameters::parse(request.query);
  if (!parameters) return fail(ErrorCode::kInvalidInput, "The query of the URL cannot be read.");
  call.parameters = std::move(*parameters);
  call.base = base_url(request, call.host, call.resource, auth::arrived_by_https(request.headers, policy_));
  // A preflight is answered before anybody is authenticated: browsers send no credentials with it.
  if (request.method == "OPTIONS") return {};
  TRY(authenticate(call));
  return read_request(call);
}

Task<http::Response> TableRoutes::serve(http::Request& request) {
  Call call{request, service_, clock_, random_, cors_};
  call.method = request.method;
  Result<http::Response> result;
  if (auto admitted = admit(call); !admitted) {
    result = fail(std::move(admitted.error()));
  } else if (request.method == "OPTIONS") {
    result = cors_.preflight(call.account(), request);
  } else if (call.url.kind == UrlKind::kEntity && call.method == "GET") {
    result = get_entity(call);
  } else if (auto route = find_route(call); route != nullptr) {
    result = co_await route(call);
  } else {
    result = fail(ErrorCode::kMethodNotAllowed);
  }
  const bool xml = result ? speaks_xml_only(call) : speaks_xml(call);
  http::Response response = result ? std::move(*result) : refuse(call, std::move(result.error()));
  add_common_headers(call, xml, response);
  if (request.method == "HEAD") {
    response.head_content_length = response.body.size();
    response.body.clear();
  }
  // Refusals too tell a browser that it may look at them.
  if (request.method != "OPTIONS") cors_.decorate(call.account(), request, response);
  co_return std::move(response);
}

http::Response TableRoutes::refuse(const Call& call, Error error) const {
  strip_index(error);
  auto form = speaks_xml(call) ? ErrorForm::kXml : ErrorForm::kJson;
  return error_response(error, form, call.http.request_id, clock_.now());
}

http::Response TableRoutes::render_error(const Error& error, const std::string& request_id) const {
  auto response = error_response(error, ErrorForm::kJson, request_id, clock_.now());
  response.set("x-ms-request-id", request_id);
  response.set("Cache-Control", "no-cache");
  response.set("X-Content-Type-Options", "nosniff");
  return response;
}

}  // namespace tidemark::table_store
