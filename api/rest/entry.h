// Decides which callers may come in, before any other part of a request is processed. A web page of a stranger can make
// a browser on this machine send requests to the api, so names (DNS rebinding), origins and body types are checked,
// whether a token is needed or not.
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
  std::string host;             // the address on which the api listens
  std::string allowed_hosts;    // "name,name"
  std::string allowed_origins;  // "https://name:port,..."
};

/// The ways to a route: with a token or a session; to metrics on loopback without either; to log in; or without
/// anything.
enum class Entrance : std::uint8_t { kToken, kMetrics, kLogin, kOpen };

/// The allowed type of a body: JSON, or for content any bytes, as application/octet-stream. A stranger's page can make
/// a browser send neither without a preflight.
enum class Body : std::uint8_t { kJson, kBytes };

/// The caller of a request.
struct Caller {
  std::string name;  // the name of the token's owner
  Role role = Role::kNone;
  const char* via = "";                 // "token", "session", or "open": no token is required
  std::string token_digest = {};        // unless open
  std::optional<Session> session = {};  // the session by which the request came

  [[nodiscard]] bool read_only() const { return session && session->read_only; }

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
  /// Checks a request that changes something. A stranger's page can make a browser send the cookie, but cannot know the
  /// right value of X-CSRF-Token. kAuthorizationFailure.
  [[nodiscard]] static Result<void> check_csrf(const http::Request& request, const Caller& caller);

  /// Tells whether a caller who came in a while ago may still use this role: the token may have been withdrawn, or the
  /// session may have ended. Counts as use of the session.
  [[nodiscard]] bool still_may(const Caller& caller, Role needed) const;

  // For the routes of sessions.
  [[nodiscard]] const Tokens& tokens() const { return *tokens_; }
  [[nodiscard]] Sessions& sessions() const { return *sessions_; }

  /// Returns the answer to a preflight of an allowed origin; nothing if the request is no preflight.
  [[nodiscard]] std::optional<http::Response> preflight(const http::Request& request) const;
  /// Lets a page of an allowed origin read the answer.
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
