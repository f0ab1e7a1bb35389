#include "api/rest/entry.h"

#include <algorithm>

#include "common/auth/bearer_token.h"
#include "common/base/encoding.h"
#include "common/base/text.h"
#include "common/http/host_name.h"
#include "common/http/server.h"

namespace tidemark::api {
namespace {

constexpr std::string_view kMethods = "GET, POST, PUT, PATCH, DELETE";
constexpr std::string_view kReadable = "Location, ETag, Retry-After, x-request-id";
constexpr std::size_t kShownNameBytes = 100;

std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  while (!list.empty()) {
    const auto item = trimmed(take_item(list));
    if (!item.empty()) items.emplace_back(item);
  }
  return items;
}

/// Turns "https://name:port" into "name:port"; empty if it does not have that form.
std::string_view host_of_origin(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

bool holds(const std::vector<std::string>& items, std::string_view wanted) {
  return std::ranges::any_of(items, [&](const auto& item) { return iequals_ascii(item, wanted); });
}

std::string shown(std::string_view text) { return std::string(beginning_of(text, kShownNameBytes)); }

bool has_body(const http::Request& request) {
  return request.header("transfer-encoding") || request.body->content_length().value_or(0) > 0;
}

Result<void> check_body(const http::Request& request, Body body) {
  if (!has_body(request)) return {};
  const auto type = request.header("content-type").value_or("");
  const auto media = trimmed(type.substr(0, type.find(';')));
  if (iequals_ascii(media, "application/json")) return {};
  if (body == Body::kBytes && iequals_ascii(media, "application/octet-stream")) return {};
  return fail(ErrorCode::kMediaTypeNotSupported, body == Body::kBytes
                                                     ? "Content must have the Content-Type application/octet-stream."
                                                     : "A body must have the Content-Type application/json.");
}

}  // namespace

namespace {

/// Returns the part of a role that only reads.
Role read_only_role(Role role) { return includes(role, Role::kViewer) ? Role::kViewer : Role::kNone; }

}  // namespace

Result<void> Caller::must_be(Role needed) const {
  if (includes(role, needed)) return {};
  if (read_only()) {
    return fail(ErrorCode::kAuthorizationPermissionMismatch,
                "This session can only read, because its login could not be entered into the audit trail. It gets the "
                "rights of its token by itself as soon as the table store answers.");
  }
  return fail(ErrorCode::kAuthorizationPermissionMismatch, "This needs the role " + std::string(role_name(needed)) +
                                                               ", and the token of " + name + " has the role " +
                                                               std::string(role_name(role)) + ".");
}

Entry::Entry(service::MetricsAccess metrics, EntryOptions options, bool loopback, std::shared_ptr<const Tokens> tokens,
             std::shared_ptr<Sessions> sessions)
    : metrics_(std::move(metrics)),
      loopback_(loopback),
      tokens_(std::move(tokens)),
      sessions_(std::move(sessions)),
      hosts_(items_of(options.allowed_hosts)),
      origins_(items_of(options.allowed_origins)) {}

Result<Entry> Entry::create(EntryOptions options, std::shared_ptr<const Tokens> tokens,
                            std::shared_ptr<Sessions> sessions) {
  const bool loopback = TRY(http::is_loopback(options.host));
  auto metrics =
      TRY(service::MetricsAccess::create(options.host, {}));  // beyond loopback, this class checks access instead
  Entry entry(std::move(metrics), std::move(options), loopback, std::move(tokens), std::move(sessions));
  for (const auto& name : entry.hosts_) {
    if (name.find_first_of("/:*") == std::string::npos || http::is_address(name)) continue;
    return fail(ErrorCode::kConfigInvalid, "allowed_hosts: \"" + name + "\" is not a name such as jobs.example.org");
  }
  for (const auto& origin : entry.origins_) {
    const auto host = host_of_origin(origin);
    if (!host.empty() && host.find('/') == std::string_view::npos) continue;
    return fail(ErrorCode::kConfigInvalid,
                "allowed_origins: \"" + origin + "\" is not an origin such as https://console.example.org:8443");
  }
  return entry;
}

bool Entry::knows_host(std::string_view host) const {
  const auto name = http::host_name(host);
  if (http::is_loopback_name(name) || holds(hosts_, name)) return true;
  // No name was resolved for it, so none can have been rebound.
  return !loopback_ && http::is_address(name);
}

Result<void> Entry::check_host(const http::Request& request) const {
  std::size_t hosts = 0;
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name, "host")) continue;
    ++hosts;
    if (knows_host(value)) continue;
    return fail(ErrorCode::kAuthorizationFailure,
                "This api does not answer to the Host \"" + shown(value) +
                    "\". If it is one of its names, add it to the setting allowed_hosts (TIDEMARK_ALLOWED_HOSTS).");
  }
  if (hosts == 1) return {};
  return fail(ErrorCode::kAuthorizationFailure, "A request needs one Host header.");
}

bool Entry::is_allowed_origin(std::string_view origin) const { return holds(origins_, origin); }

Result<void> Entry::check_origin(const http::Request& request) const {
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name, "origin") || is_allowed_origin(value)) continue;
    const auto host = host_of_origin(value);
    if (!host.empty() && iequals_ascii(host, request.header("host").value_or(""))) continue;
    return fail(ErrorCode::kAuthorizationFailure,
                "Pages of \"" + shown(value) +
                    "\" may not use this api. If they should, add it to the setting allowed_origins "
                    "(TIDEMARK_ALLOWED_ORIGINS).");
  }
  return {};
}

std::optional<Caller> Entry::of_session(const http::Request& request) const {
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name, "cookie")) continue;
    for (const auto id : session_ids(value)) {
      auto session = sessions_->use(id);
      if (!session) continue;
      // The token may have been withdrawn, or its role changed, since the login.
      auto token = tokens_->with_digest(session->token_digest);
      if (!token) continue;
      const auto role = session->read_only ? read_only_role(token->role) : token->role;
      return Caller{std::move(token->name), role, "session", std::move(token->digest), std::move(session)};
    }
  }
  return std::nullopt;
}

Result<Caller> Entry::identify(const http::Request& request) const {
  if (tokens_->open()) return Caller{"open", Role::kAdmin, "open"};
  const auto header = request.header("authorization");
  if (header) {
    const auto given = auth::token_in(header);
    auto token = given ? tokens_->find(*given) : std::nullopt;
    if (!token) return fail(ErrorCode::kUnauthorized, "This is not the bearer token.");
    return Caller{std::move(token->name), token->role, "token", std::move(token->digest)};
  }
  if (auto caller = of_session(request)) return std::move(*caller);
  return fail(ErrorCode::kUnauthorized,
              "A bearer token is required: the setting token of the api, or else what is in DATA/run/token. tidemark "
              "takes it from --token, TIDEMARK_TOKEN, or the directory that --data or TIDEMARK_DATA names.");
}

Result<void> Entry::check_csrf(const http::Request& request, const Caller& caller) {
  if (!caller.session) return {};
  if (constant_time_equal(request.header("x-csrf-token").value_or(""), caller.session->csrf)) return {};
  return fail(ErrorCode::kAuthorizationFailure,
              "A request by a session that changes something needs the header X-CSRF-Token, with the csrfToken that "
              "GET /v1/session answers.");
}

bool Entry::still_may(const Caller& caller, Role needed) const {
  if (tokens_->open()) return true;
  if (caller.session) {
    const auto session = sessions_->use(*caller.session);
    if (!session || (session->read_only && !includes(Role::kViewer, needed))) return false;
  }
  const auto token = tokens_->with_digest(caller.token_digest);
  return token && includes(token->role, needed);
}

Result<Caller> Entry::admit(const http::Request& request, Entrance entrance, Body body) const {
  if (entrance == Entrance::kOpen) return Caller{};
  TRY(check_host(request));
  TRY(check_origin(request));
  if (entrance == Entrance::kMetrics && metrics_.open_to(request)) return Caller{"", Role::kViewer, "open"};
  auto caller = entrance == Entrance::kLogin ? Caller{} : TRY(identify(request));
  TRY(check_body(request, body));
  return caller;
}

std::optional<http::Response> Entry::preflight(const http::Request& request) const {
  const auto origin = request.header("origin");
  if (request.method != "OPTIONS" || !request.header("access-control-request-method")) return std::nullopt;
  if (!origin || !is_allowed_origin(*origin) || !check_host(request)) return std::nullopt;
  http::Response response;
  response.status = 204;
  response.set("Access-Control-Allow-Methods", kMethods);
  response.set("Access-Control-Allow-Headers",
               "Authorization, Content-Type, If-Match, If-None-Match, X-Tidemark-Reason");
  response.set("Access-Control-Max-Age", "600");
  return response;
}

void Entry::decorate(const http::Request& request, http::Response& response) const {
  if (origins_.empty()) return;
  response.set("Vary", "Origin");
  const auto origin = request.header("origin");
  if (!origin || !is_allowed_origin(*origin)) return;
  response.set("Access-Control-Allow-Origin", *origin);
  response.set("Access-Control-Expose-Headers", kReadable);
}

}  // namespace tidemark::api
