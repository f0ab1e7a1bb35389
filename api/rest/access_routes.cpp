// The caller's identity and the sessions of browsers; and the audit trail of all callers.
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/trail.h"
#include "common/base/encoding.h"
#include "common/base/json.h"
#include "common/process/failures.h"
#include "common/service/request_limits.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

/// Reads {"token":T}.
Result<std::string> read_token(const std::string& body) {
  const auto parsed = json_or_discarded(body);
  const bool good = parsed.is_object() && parsed.size() == 1 && parsed.contains("token") && parsed["token"].is_string();
  if (!good) return fail(ErrorCode::kInvalidInput, "The body must be {\"token\":\"...\"}.");
  return parsed["token"].get<std::string>();
}

json who_json(const Api& api, const Caller& caller) {
  json out{{"name", caller.name}, {"role", role_name(caller.role)}, {"via", caller.via}};
  if (!caller.session) return out;
  out["csrfToken"] = caller.session->csrf;
  out["expiresAt"] = to_iso8601(api.clock.now() + api.entry.sessions().left(*caller.session));
  return out;
}

/// Also true if a terminator in front speaks HTTPS: a client that claims this without one gets a useless cookie.
bool by_https(const http::Request& request) {
  return request.tls || iequals_ascii(request.header("x-forwarded-proto").value_or(""), "https");
}

http::Response too_many_logins(const http::Request& request, Duration wait) {
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait).count();
  auto response =
      problem(make_error(ErrorCode::kServerBusy, "Too many wrong tokens came from this address. Try again in " +
                                                     std::to_string(seconds) + " seconds."),
              request.request_id);
  service::tell_when(static_cast<std::uint64_t>(seconds), response);
  return response;
}

/// Only logins that succeed are entered; the others are bounded like all requests of strangers.
Task<Result<void>> note_done(Api& api, const http::Request& request, const Caller& caller, unsigned status) {
  auto entry = entry_of({request.method, "v1/session", Role::kNone, {}}, {caller}, request);
  entry.outcome = jobs::outcome::kDone;
  entry.status = static_cast<std::int32_t>(status);
  const auto noted = co_await api.audit.add(std::move(entry));
  co_return noted ? Result<void>() : fail(noted.error());
}

Answer log_in(Api& api, http::Request& request, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto& tokens = api.entry.tokens();
  if (tokens.open()) co_return json_response(200, who_json(api, CO_TRY(api.entry.admit(request, Entrance::kToken))));
  if (const auto wait = api.strangers->must_wait(request.remote_address)) co_return too_many_logins(request, *wait);
  auto token = tokens.find(CO_TRY(read_token(body)));
  if (!token) {
    api.strangers->login_failed(request.remote_address);
    api.strangers->refused(request.remote_address, "POST /v1/session");
    co_return fail(ErrorCode::kUnauthorized, "This is not a token of this api.");
  }
  Caller caller{std::move(token->name), token->role, "session", token->digest};
  const auto noted = co_await note_done(api, request, caller, 200);
  if (!noted) co_return fail(not_noted(noted.error()));
  auto opened = CO_TRY(api.entry.sessions().open(token->digest));
  caller.session = std::move(opened.session);
  auto response = json_response(200, who_json(api, caller));
  response.set("Set-Cookie", session_cookie(opened.id, by_https(request), api.entry.sessions().longest()));
  co_return response;
}

Answer show_session(Api& api, http::Request&, Action& action, std::string) {
  co_return json_response(200, who_json(api, action.caller));
}

/// A caller that logs out is out at once, even if the entry cannot be written.
Answer log_out(Api& api, http::Request& request, Action& action, std::string) {
  for (const auto& [name, value] : request.headers) {
    if (!iequals_ascii(name, "cookie")) continue;
    for (const auto id : session_ids(value)) api.entry.sessions().close(id);
  }
  auto response = no_content();
  const auto noted = co_await note_done(api, request, action.caller, response.status);
  if (!noted) process::log_failed_task("api.audit", noted.error());
  response.set("Set-Cookie", session_cookie({}, by_https(request), {}));
  co_return response;
}

json audit_json(const jobs::AuditEntry& entry) {
  json out{{"id", entry.id}};
  jobs::add_members(out, entry, jobs::kAuditFields);
  return out;
}

Answer list_audit(Api& api, http::Request& request, std::string) {
  auto parameters = CO_TRY(Parameters::read(request));
  const auto limit = CO_TRY(parameters.limit());
  jobs::AuditFilter filter{{}, parameters.text("actor"), parameters.text("operation"), parameters.text("target")};
  if (const auto since = parameters.text("since"); !since.empty()) {
    filter.since = parse_iso8601(since);
    if (!filter.since) {
      co_return fail(ErrorCode::kInvalidQueryParameterValue, "since must be a time such as 2026-01-31T22:00:00Z.");
    }
  }
  const auto page = CO_TRY(co_await api.audit.list(std::move(filter), limit, parameters.text("continuation")));
  co_return page_response(
      "entries", page.entries, page.continuation, [](const jobs::AuditEntry& entry) { return audit_json(entry); },
      page.searched);
}

}  // namespace

std::span<const Route> access_routes() {
  static constexpr Route kRoutes[] = {
      {"POST", "v1/session", Role::kNone, log_in, Entrance::kLogin, Trail::kNone},
      {"GET", "v1/session", Role::kViewer, show_session},
      {"DELETE", "v1/session", Role::kViewer, log_out, Entrance::kToken, Trail::kNone},
      {"GET", "v1/audit", Role::kViewer, list_audit},
  };
  return kRoutes;
}

}  // namespace tidemark::api
