// Decides who may read /metrics: callers on loopback, by a loopback name, and beyond that the holders of the stack's
// bearer token. So neither another machine nor a web page in a browser on this one can read the names of queues.
#pragma once
#include <string>

#include "common/base/error.h"
#include "common/http/http.h"

namespace tidemark::service {

class MetricsAccess {
 public:
  /// `host`: the address that the server listens on. kConfigInvalid if it is no address.
  static Result<MetricsAccess> create(const std::string& host, std::string token);

  /// Tells whether the request needs no token.
  [[nodiscard]] bool open_to(const http::Request& request) const;
  /// Admits the request, or fails with kUnauthorized.
  [[nodiscard]] Result<void> admit(const http::Request& request) const;

 private:
  MetricsAccess(bool loopback, std::string token) : loopback_(loopback), token_(std::move(token)) {}
  bool loopback_;
  std::string token_;
};

/// Returns the answer to a request that was not admitted.
http::Response refuse_metrics(const Error& error);

}  // namespace tidemark::service
