#include "common/protocol/cors.h"

#include <algorithm>

#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::protocol {
namespace {

// Headers that the server adds after the answer has left the store; a rule may expose them like any other.
constexpr std::string_view kLateHeaders[] = {"Content-Length", "Date", "Server"};

bool contains(const std::vector<std::string>& items, std::string_view wanted) {
  return std::find(items.begin(), items.end(), wanted) != items.end();
}

bool allows_every_origin(const CorsRule& rule) { return contains(rule.origins, "*"); }

/// A star in an allowed origin stands for some characters: http://*.contoso.com
bool is_covered(std::string_view origin, std::string_view allowed) {
  const auto star = allowed.find('*');
  if (star == std::string_view::npos) return origin == allowed;
  return origin.size() >= allowed.size() && origin.starts_with(allowed.substr(0, star)) &&
         origin.ends_with(allowed.substr(star + 1));
}

bool allows_origin(const CorsRule& rule, std::string_view origin) {
  return std::ranges::any_of(rule.origins, [&](const std::string& allowed) { return is_covered(origin, allowed); });
}

/// The error for a preflight that lacks a required header.
Error missing_cors_header(std::string_view name) {
  auto error = invalid_header(name, "");
  error.message = "A required CORS header is not present.";
  return error;
}

bool starts_with_prefix(std::string_view name, std::string_view pattern) {
  const auto length = pattern.size() - 1;
  return name.size() >= length && iequals_ascii(name.substr(0, length), pattern.substr(0, length));
}

bool allows_header(const CorsRule& rule, std::string_view name) {
  return std::any_of(rule.allowed_headers.begin(), rule.allowed_headers.end(), [&](const std::string& allowed) {
    return allowed.ends_with('*') ? starts_with_prefix(name, allowed) : iequals_ascii(name, allowed);
  });
}

bool allows_headers(const CorsRule& rule, std::string_view list) {
  while (!list.empty()) {
    const auto name = trimmed_spaces(take_item(list));
    if (!name.empty() && !allows_header(rule, name)) return false;
  }
  return true;
}

void append_item(std::string& list, std::string_view item) {
  if (!list.empty()) list += ',';
  list += item;
}

/// Keeps literal names as they are, and replaces a prefix by the names in this answer that it covers.
std::string exposed_headers(const CorsRule& rule, const http::Response& response) {
  std::string out;
  for (const auto& exposed : rule.exposed_headers) {
    if (!exposed.ends_with('*')) {
      append_item(out, exposed);
      continue;
    }
    for (const auto& [name, value] : response.headers) {
      if (starts_with_prefix(name, exposed)) append_item(out, name);
    }
    for (const auto name : kLateHeaders) {
      if (starts_with_prefix(name, exposed)) append_item(out, name);
    }
  }
  return out;
}

void allow_origin(const CorsRule& rule, std::string_view origin, http::Response& response) {
  if (allows_every_origin(rule)) {
    response.set("Access-Control-Allow-Origin", "*");
    return;
  }
  response.set("Access-Control-Allow-Origin", origin);
  response.set("Access-Control-Allow-Credentials", "true");
}

/// Returns the first rule that matches an actual request. Without an origin, only a rule for all origins can match.
const CorsRule* match_actual(const CorsRules& rules, std::optional<std::string_view> origin, std::string_view method) {
  for (const auto& rule : rules) {
    if (!contains(rule.methods, method)) continue;
    if (allows_every_origin(rule) || (origin && allows_origin(rule, *origin))) return &rule;
  }
  return nullptr;
}

}  // namespace

const CorsRule* match_preflight(const CorsRules& rules, std::string_view origin, std::string_view method,
                                std::string_view headers) {
  for (const auto& rule : rules) {
    if (!allows_every_origin(rule) && !allows_origin(rule, origin)) continue;
    if (contains(rule.methods, method) && allows_headers(rule, headers)) return &rule;
  }
  return nullptr;
}

Result<http::Response> answer_preflight(const CorsRules& rules, const http::Request& request) {
  const auto origin = request.header("origin");
  const auto method = request.header("access-control-request-method");
  if (!origin || origin->empty()) return fail(missing_cors_header("Origin"));
  if (!method || method->empty()) return fail(missing_cors_header("Access-Control-Request-Method"));
  const auto headers = request.header("access-control-request-headers");
  const auto* rule = match_preflight(rules, *origin, *method, headers.value_or(""));
  if (rule == nullptr) return fail(ErrorCode::kCorsPreflightFailure);
  http::Response response;
  allow_origin(*rule, *origin, response);
  response.set("Access-Control-Allow-Methods", *method);
  if (headers) response.set("Access-Control-Allow-Headers", *headers);
  response.set("Access-Control-Max-Age", std::to_string(rule->max_age_s));
  return response;
}

void add_cors_headers(const CorsRules& rules, const http::Request& request, http::Response& response) {
  if (rules.empty()) return;
  const auto origin = request.header("origin");
  const auto* rule = match_actual(rules, origin, request.method);
  const bool for_all = rule != nullptr && allows_every_origin(*rule);
  // The answer differs by origin unless the matching rule is for all origins; shared caches must know.
  if (!for_all && (request.method == "GET" || request.method == "HEAD")) response.set("Vary", "Origin");
  if (rule == nullptr) return;
  const auto exposed = exposed_headers(*rule, response);
  allow_origin(*rule, origin.value_or(""), response);
  if (!exposed.empty()) response.set("Access-Control-Expose-Headers", exposed);
}

void CorsPolicies::take(std::string_view account, std::string_view stored) {
  CorsRules rules;
  if (!stored.empty()) {
    // The CORS section is the same in all three documents; a blob's document has the most sections.
    auto properties = parse_service_properties(StoreKind::kBlob, stored);
    if (properties && properties->cors) rules = std::move(*properties->cors);
  }
  const MutexLock lock(mutex_);
  if (rules.empty()) {
    rules_.erase(std::string(account));
  } else {
    rules_.insert_or_assign(std::string(account), std::make_shared<const CorsRules>(std::move(rules)));
  }
  any_.store(!rules_.empty(), std::memory_order_release);
}

std::shared_ptr<const CorsRules> CorsPolicies::rules_of(std::string_view account) const {
  if (!any()) return nullptr;
  MutexLock lock(mutex_);
  const auto found = rules_.find(account);
  return found == rules_.end() ? nullptr : found->second;
}

bool CorsPolicies::admits(std::string_view account, const http::Request& request) const {
  const auto rules = rules_of(account);
  return rules && match_actual(*rules, request.header("origin"), request.method) != nullptr;
}

void CorsPolicies::decorate(std::string_view account, const http::Request& request, http::Response& response) const {
  if (const auto rules = rules_of(account)) add_cors_headers(*rules, request, response);
}

Result<http::Response> CorsPolicies::preflight(std::string_view account, const http::Request& request) const {
  const auto rules = rules_of(account);
  return answer_preflight(rules ? *rules : CorsRules{}, request);
}

}  // namespace tidemark::protocol
