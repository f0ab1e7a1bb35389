// The caller's identity and the sessions of browsers; and the audit trail of all callers.
#include "api/rest/api_routes.h"
#include "api/rest/parameters.h"
#include "api/rest/render.h"
#include "api/rest/request_body.h"
#include "api/rest/trail.h"
#include "common/base/encoding.h"
#include "common/base/log.h"
#include "common/process/failures.h"
#include "common/service/request_limits.h"
#include "jobs/spec/spec_members.h"

namespace tidemark::api {
namespace {

using nlohmann::json;

constexpr auto kRolesOfTokens = std::span(kRoleNames).subspan<1>();
constexpr std::array<std::string_view, 3> kWaysIn{"token", "session", "open"};

struct Login {
  std::string token;
  static constexpr const char* kSchema = "Login";
  void members(jobs::SpecMembers& in) { in.text("token", token, true); }
};

struct ShownSession {
  Caller caller;
  std::optional<Time> expires_at;
  static constexpr const char* kSchema = "Session";
  void members(jobs::SpecMembers& to) const {
    to.shows("name", caller.name, {.meaning = "the name of the token's owner"});
    to.shows("role", std::string(role_name(caller.role)), {.one_of = kRolesOfTokens});
    to.shows("via", std::string(caller.via), {.meaning = "open: no token is required", .one_of = kWaysIn});
    const auto csrf = [](const Session& session) { return session.csrf; };
    to.shows("csrfToken", caller.session.transform(csrf),
             {.meaning = "of a session: what its requests other than GET and HEAD have in the header X-CSRF-Token"});
    to.shows("expiresAt", expires_at, {.meaning = "when the session ends if it is not used"});
    to.shows("readOnly", caller.read_only() ? std::optional(true) : std::nullopt,
             {.meaning = "the session can only read until its login is in the audit trail, which cannot be written "
                         "while the table store is away"});
  }
};

json who_json(const Api& api, const Caller& caller) {
  std::optional<Time> end;
  if (caller.session) end = api.clock.now() + api.entry.sessions().left(*caller.session);
  return json_of(ShownSession{caller, end});
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
jobs::AuditEntry done_entry(const http::Request& request, const Caller& caller, unsigned status) {
  auto entry = entry_of({request.method, "v1/session", Role::kNone, {}}, {caller}, request);
  entry.outcome = jobs::outcome::kDone;
  entry.status = static_cast<std::int32_t>(status);
  return entry;
}

Task<Result<void>> note_done(Api& api, jobs::AuditEntry entry) {
  if (!api.watch->answers("table")) co_return fail(ErrorCode::kUnavailable, "The table store does not answer.");
  const auto noted = co_await api.audit.add(std::move(entry));
  co_return noted ? Result<void>() : fail(noted.error());
}

constexpr Duration kPauseBetweenEntries = std::chrono::seconds(1);

/// Enters a login as soon as the audit trail can be written again; until then its session can only read. `slot` limits
/// how many of these tasks there are.
Task<void> note_later(Api& api, jobs::AuditEntry entry, std::string session, std::shared_ptr<void> slot) {
  entry.detail = "signed in at " + to_iso8601(api.clock.now()) + ", while the audit trail could not be written";
  while (!api.stopping->load()) {
    co_await sleep_for(api.clock, kPauseBetweenEntries);
    const auto noted = co_await note_done(api, entry);
    if (!noted) continue;
    api.entry.sessions().admit_fully(session);
    slot.reset();
    co_return;
  }
}

Answer log_in(Api& api, http::Request& request, std::string) {
  const auto body = CO_TRY(co_await request.body->read_all(kMaxBodyBytes));
  const auto& tokens = api.entry.tokens();
  if (tokens.open()) co_return json_response(200, who_json(api, CO_TRY(api.entry.admit(request, Entrance::kToken))));
  if (const auto wait = api.strangers->must_wait(request.remote_address)) co_return too_many_logins(request, *wait);
  auto token = tokens.find(CO_TRY(members_in<Login>(body)).token);
  if (!token) {
    api.strangers->login_failed(request.remote_address);
    api.strangers->refused(request.remote_address, "POST /v1/session");
    co_return fail(ErrorCode::kUnauthorized, "This is not a token of this api.");
  }
  Caller caller{std::move(token->name), token->role, "session", token->digest};
  auto entry = done_entry(request, caller, 200);
  const auto noted = co_await note_done(api, entry);
  auto late = noted ? std::shared_ptr<void>() : api.late_logins.take();
  if (!noted && (!late || http_status_of(noted.error().code) < 500)) co_return fail(not_noted(noted.error()));
  auto opened = CO_TRY(api.entry.sessions().open(token->digest, !noted));
  if (!noted) {
    log_warning("a login that the audit trail does not have yet can only read name={} address={}", caller.name,
                request.remote_address);
    caller.role = std::min(caller.role, Role::kViewer);
    spawn(co_await asio::this_coro::executor, note_later(api, std::move(entry), opened.session.name, std::move(late)));
  }
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
  const auto noted = co_await note_done(api, done_entry(request, action.caller, response.status));
  if (!noted) process::log_failed_task("api.audit", noted.error());
  response.set("Set-Cookie", session_cookie({}, by_https(request), {}));
  co_return response;
}

constexpr std::array<std::string_view, 4> kOutcomesOfActions{jobs::outcome::kBegun, jobs::outcome::kDone,
                                                             jobs::outcome::kRefused, jobs::outcome::kFailed};

struct ShownEntry {
  jobs::AuditEntry entry;
  static constexpr const char* kSchema = "AuditEntry";
  void members(jobs::SpecMembers& to) const {
    const auto known = [](auto value) { return value == decltype(value){} ? std::nullopt : std::optional(value); };
    to.shows("id", entry.id);
    to.shows("at", entry.at);
    to.shows("actor", entry.actor, {.meaning = "the name of the token"});
    to.shows("role", entry.role, {.one_of = kRolesOfTokens});
    to.shows("via", entry.via, {.one_of = kWaysIn});
    to.shows("address", entry.address);
    to.shows("operation", entry.operation);
    to.shows("target", known(entry.target));
    to.shows("detail", known(entry.detail));
    to.shows("count", entry.count, {.meaning = "how many objects, if that is known"});
    to.shows("reason", known(entry.reason), {.meaning = "from the header X-Tidemark-Reason"});
    to.shows("outcome", entry.outcome,
             {.meaning = "begun: it is in progress, or its outcome is unknown", .one_of = kOutcomesOfActions});
    to.shows("status", known(entry.status), {.meaning = "of the answer"});
    to.shows("code", known(entry.code), {.meaning = "of the error"});
    to.shows("requestId", entry.request_id);
  }
};

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
      "entries", page.entries, page.continuation, [](const auto& entry) { return json_of(ShownEntry{entry}); },
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

nlohmann::ordered_json access_schemas() {
  nlohmann::ordered_json out;
  jobs::add_requests<Login>(out);
  jobs::add_answers<ShownSession, ShownEntry>(out);
  return out;
}

}  // namespace tidemark::api
