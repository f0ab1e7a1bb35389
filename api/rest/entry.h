// Who may come in, decided before anything of a request is done. A web page of anybody can make a browser on this
// machine send requests to it, so names (DNS rebinding), origins and body types are checked, whether a token is needed
// or not.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "api/access/sessions.h"
#include "api/access/tokens.h"
#include "common/http/http.h"
#include "common/service/metrics_access.h"

namespace tidemark::api {

struct EntryOptions {
  std::string host;             // that the api listens on
  std::string allowed_hosts;    // "name,name"
  std::string allowed_origins;  // "https://name:port,..."
};

/// How one comes to a route: with a token or a session; to metrics on loopback without one; to log in; or just so.
enum class Entrance : std::uint8_t { kToken, kMetrics, kLogin, kOpen };

/// What a body may be: JSON, or for content any bytes, which are application/octet-stream. A page of somebody else's
/// can make a browser send neither without being asked.
enum class Body : std::uint8_t { kJson, kBytes };

/// Who came in.
struct Caller {
  std::string name;  // of whoever has the token
  Role role = Role::kNone;
  const char* via = "";                 // "token", "session", or "open": nobody is asked for a token
  std::string token_digest = {};        // unless open
  std::optional<Session> session = {};  // that the request came by

  /// kAuthorizationPermissionMismatch.
  [[nodiscard]] Result<void> must_be(Role needed) const;
};

class Entry {
 public:
  /// kConfigInvalid.
  static Result<Entry> create(EntryOptions options, std::shared_ptr<const Tokens> tokens,
                              std::shared_ptr<Sessions> sessions);

  /// kAuthorizationFailure: the Host or the Origin. kUnauthorized. kMediaTypeNotSupported: a body of another type.
  [[nodiscard]] Result<Caller> admit(const http::Request& request, Entrance entrance, Body body = Body::kJson) const;
  /// Of a request that changes something. A page of somebody else's can make a browser send the cookie, but cannot know
  /// what stands in X-CSRF-Token. kAuthorizationFailure.
  [[nodiscard]] static Result<void> check_csrf(const http::Request& request, const Caller& caller);

  /// Whether somebody who came in a while ago may still do what needs this role: the token may have been withdrawn, or
  /// the session have ended, which is used hereby.
  [[nodiscard]] bool still_may(const Caller& caller, Role needed) const;

  // What the routes of sessions need.
  [[nodiscard]] const Tokens& tokens() const { return *tokens_; }
  [[nodiscard]] Sessions& sessions() const { return *sessions_; }

  /// The answer to a preflight of an origin that was allowed; nothing if it is none.
  [[nodiscard]] std::optional<http::Response> preflight(const http::Request& request) const;
  /// Lets a page of an origin that was allowed read the answer.
  void decorate(const http::Request& request, http::Response& response) const;

 private:
  Entry(service::MetricsAccess metrics, EntryOptions options, bool loopback, std::shared_ptr<const Tokens> tokens,
        std::shared_ptr<Sessions> sessions);
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] Result<void> check_host(const http::Request& request) const;
  [[nodiscard]] Result<void> check_origin(const http::Request& request) const;
  [[nodiscard]] Result<Caller> identify(const http::Request& request) const;
  [[nodiscard]] std::optional<Caller> of_session(const http::Request& request) const;
  [[nodiscard]] bool is_allowed_origin(std::string_view origin) const;

  service::MetricsAccess metrics_;
  bool loopback_;
  std::shared_ptr<const Tokens> tokens_;
  std::shared_ptr<Sessions> sessions_;
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

}  // namespace tidemark::api
