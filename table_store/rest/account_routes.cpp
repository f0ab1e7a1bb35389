#include "table_store/rest/account_routes.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "table_store/rest/table_xml.h"

namespace tidemark::table_store {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::any_of(list.begin(), list.end(), [&](const auto& item) { return item == "*" || item == wanted; });
}

bool allows_header(const CorsRule& rule, std::string_view header) {
  return std::any_of(rule.allowed_headers.begin(), rule.allowed_headers.end(), [&](const std::string& allowed) {
    if (!allowed.ends_with('*')) return iequals_ascii(allowed, header);
    auto length = allowed.size() - 1;
    return header.size() >= length && iequals_ascii(header.substr(0, length), allowed.substr(0, length));
  });
}

bool allows_headers(const CorsRule& rule, std::string_view list) {
  while (!list.empty()) {
    auto comma = list.find(',');
    auto name = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (!name.empty() && !allows_header(rule, name)) return false;
  }
  return true;
}

std::string join(const std::vector<std::string>& items) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ",") + item;
  return out;
}

bool any_origin(const CorsRule& rule) {
  return std::find(rule.origins.begin(), rule.origins.end(), "*") != rule.origins.end();
}

Task<Result<http::Response>> serve_properties(Call& call) {
  bool get = call.method == "GET";
  if (!get && call.method != "PUT") co_return fail(ErrorCode::kMethodNotAllowed);
  auth::Need need{auth::ResourceType::kService, get ? "r" : "w", {}, false};
  if (auto allowed = call.allow(need); !allowed) co_return fail(std::move(allowed.error()));
  auto load = call.service.get_service_properties(call.account());
  auto stored = co_await std::move(load);
  if (!stored) co_return fail(std::move(stored.error()));
  http::Response response;
  if (get) {
    response.set("Content-Type", "application/xml");
    response.body = service_properties_xml(*stored);
    co_return response;
  }
  auto read = call.http.body->read_all(kMaxXml);
  auto body = co_await std::move(read);
  if (!body) co_return fail(std::move(body.error()));
  auto merged = merge_service_properties(*stored, *body);
  if (!merged) co_return fail(std::move(merged.error()));
  auto store = call.service.set_service_properties(call.account(), std::move(*merged));
  auto done = co_await std::move(store);
  if (!done) co_return fail(std::move(done.error()));
  response.status = 202;
  co_return response;
}

Result<http::Response> serve_stats(const Call& call) {
  if (call.method != "GET") return fail(ErrorCode::kMethodNotAllowed);
  auth::Need need{auth::ResourceType::kService, "r", {}, false};
  if (auto allowed = call.allow(need); !allowed) return fail(std::move(allowed.error()));
  if (!call.resource.secondary) return fail(ErrorCode::kInvalidQueryParameterValue);
  http::Response response;
  response.set("Content-Type", "application/xml");
  response.body = service_stats_xml(call.clock.now());
  return response;
}

}  // namespace

Task<Result<http::Response>> serve_account(Call& call) {
  auto comp = call.parameter("comp").value_or("");
  if (call.parameter("restype").value_or("service") != "service") co_return fail(ErrorCode::kInvalidUri);
  if (comp == "stats") co_return serve_stats(call);
  if (comp != "properties") co_return fail(ErrorCode::kInvalidUri);
  auto task = serve_properties(call);
  auto response = co_await std::move(task);
  co_return std::move(response);
}

Task<Result<http::Response>> serve_preflight(Call& call) {
  auto origin = call.http.header("origin");
  auto method = call.http.header("access-control-request-method");
  if (!origin || !method) co_return fail(ErrorCode::kInvalidHeaderValue);
  auto headers = call.http.header("access-control-request-headers");
  auto load = call.service.get_service_properties(call.account());
  auto stored = co_await std::move(load);
  if (!stored) co_return fail(std::move(stored.error()));
  for (const auto& rule : cors_rules(*stored)) {
    if (!contains(rule.origins, *origin) || !contains(rule.methods, *method)) continue;
    if (!allows_headers(rule, headers.value_or(""))) continue;
    http::Response response;
    response.set("Access-Control-Allow-Origin", any_origin(rule) ? "*" : std::string(*origin));
    response.set("Access-Control-Allow-Methods", std::string(*method));
    if (headers) response.set("Access-Control-Allow-Headers", std::string(*headers));
    response.set("Access-Control-Max-Age", rule.max_age);
    if (!any_origin(rule)) response.set("Access-Control-Allow-Credentials", "true");
    co_return response;
  }
  co_return fail(ErrorCode::kCorsPreflightFailure);
}

Task<void> add_cors_headers(Call& call, http::Response& response) {
  auto origin = call.http.header("origin");
  if (!origin) co_return;
  auto load = call.service.get_service_properties(call.account());
  auto stored = co_await std::move(load);
  if (!stored) co_return;
  auto rules = cors_rules(*stored);
  if (!rules.empty()) response.set("Vary", "Origin");
  for (const auto& rule : rules) {
    if (!contains(rule.origins, *origin) || !contains(rule.methods, call.http.method)) continue;
    response.set("Access-Control-Allow-Origin", any_origin(rule) ? "*" : std::string(*origin));
    if (!rule.exposed_headers.empty()) response.set("Access-Control-Expose-Headers", join(rule.exposed_headers));
    if (!any_origin(rule)) response.set("Access-Control-Allow-Credentials", "true");
    co_return;
  }
}

}  // namespace tidemark::table_store
