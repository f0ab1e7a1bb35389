#include "common/service/metrics_access.h"

#include "common/auth/bearer_token.h"
#include "common/http/host_name.h"
#include "common/http/server.h"

namespace tidemark::service {

Result<MetricsAccess> MetricsAccess::create(const std::string& host, std::string token) {
  return MetricsAccess(TRY(http::is_loopback(host)), std::move(token));
}

bool MetricsAccess::open_to(const http::Request& request) const {
  return loopback_ && http::is_loopback_name(http::host_name(request.header("host").value_or("")));
}

Result<void> MetricsAccess::admit(const http::Request& request) const {
  if (open_to(request) || auth::bears(request.header("authorization"), token_)) return {};
  return fail(ErrorCode::kUnauthorized,
              "Beyond loopback, /metrics needs the stack's bearer token: the setting token, or else DATA/run/token.");
}

http::Response refuse_metrics(const Error& error) {
  http::Response response;
  response.status = http_status_of(error.code);
  response.set("Content-Type", "text/plain; charset=utf-8");
  response.set("WWW-Authenticate", "Bearer");
  response.body = error.message + "\n";
  return response;
}

}  // namespace tidemark::service
