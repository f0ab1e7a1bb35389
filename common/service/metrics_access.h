// Who may read /metrics: whoever asks for it on loopback, by a name that is loopback's, and beyond that those who have
// the stack's bearer token. So neither another machine nor a web page in a browser on this one reads the names of
// queues.
#pragma once
#include <string>

#include "common/base/error.h"
#include "common/http/http.h"

namespace tidemark::service {

class MetricsAccess {
 public:
  /// `host`: the address that the server listens on; kConfigInvalid if it is none.
  static Result<MetricsAccess> create(const std::string& host, std::string token);

  /// Without a token.
  [[nodiscard]] bool open_to(const http::Request& request) const;
  /// kUnauthorized.
  [[nodiscard]] Result<void> admit(const http::Request& request) const;

 private:
  MetricsAccess(bool loopback, std::string token) : loopback_(loopback), token_(std::move(token)) {}
  bool loopback_;
  std::string token_;
};

/// The answer to whoever was not admitted.
http::Response refuse_metrics(const Error& error);

}  // namespace tidemark::service
