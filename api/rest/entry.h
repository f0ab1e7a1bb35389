// Who may come in, decided before anything of a request is done. A web page of anybody can make a browser on this
// machine send requests to it, so names (DNS rebinding), origins and body types are checked, whether a token is needed
// or not.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "common/http/http.h"
#include "common/service/metrics_access.h"

namespace tidemark::api {

struct EntryOptions {
  std::string host;             // that the api listens on
  std::string token;            // empty: none is needed
  std::string allowed_hosts;    // "name,name"
  std::string allowed_origins;  // "https://name:port,..."
};

/// What a route needs.
enum class Entrance : std::uint8_t { kToken, kMetrics, kOpen };

class Entry {
 public:
  /// kConfigInvalid.
  static Result<Entry> create(EntryOptions options);

  /// kAuthorizationFailure: the Host or the Origin. kUnauthorized. kMediaTypeNotSupported: a body that is not JSON.
  [[nodiscard]] Result<void> admit(const http::Request& request, Entrance entrance) const;

  /// The answer to a preflight of an origin that was allowed; nothing if it is none.
  [[nodiscard]] std::optional<http::Response> preflight(const http::Request& request) const;
  /// Lets a page of an origin that was allowed read the answer.
  void decorate(const http::Request& request, http::Response& response) const;

 private:
  Entry(service::MetricsAccess metrics, EntryOptions options, bool loopback);
  [[nodiscard]] bool knows_host(std::string_view host) const;
  [[nodiscard]] Result<void> check_host(const http::Request& request) const;
  [[nodiscard]] Result<void> check_origin(const http::Request& request) const;
  [[nodiscard]] Result<void> check_token(const http::Request& request) const;
  [[nodiscard]] bool is_allowed_origin(std::string_view origin) const;

  service::MetricsAccess metrics_;
  std::string token_;
  bool loopback_;
  std::vector<std::string> hosts_;
  std::vector<std::string> origins_;
};

}  // namespace tidemark::api
