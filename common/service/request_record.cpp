#include "common/service/request_record.h"

#include <array>

#include "common/base/numbers.h"
#include "common/base/query.h"

namespace tidemark::service {
namespace {

using analytics::Login;

Login login_of(const Call& call) {
  if (call.authenticated) {
    switch (call.identity.scheme) {
      case auth::Scheme::kSharedKey:
        return Login::kKey;
      case auth::Scheme::kAccountSas:
      case auth::Scheme::kServiceSas:
        return Login::kSas;
      case auth::Scheme::kAnonymous:
        return Login::kAnonymous;
      case auth::Scheme::kBearer:
        return Login::kBearer;
    }
  }
  if (call.parameter("sig")) return Login::kSas;
  return call.http.header("authorization") ? Login::kKey : Login::kAnonymous;
}

/// The size of the head as it was on the wire.
std::uint64_t head_bytes(const http::Request& request) {
  std::uint64_t bytes = request.method.size() + request.target.size() + std::string_view("  HTTP/1.1\r\n\r\n").size();
  for (const auto& [name, value] : request.headers) bytes += name.size() + value.size() + 4;
  return bytes;
}

std::string conditions_of(const http::Request& request) {
  constexpr std::array<std::string_view, 4> kConditions{"If-Match", "If-None-Match", "If-Modified-Since",
                                                        "If-Unmodified-Since"};
  std::string out;
  for (const auto name : kConditions) {
    const auto value = request.header(name);
    if (value) out.append(out.empty() ? "" : ";").append(name).append("=").append(*value);
  }
  return out;
}

std::uint64_t body_bytes(const http::Response& response) {
  return response.source ? response.source_length.value_or(0) : response.body.size();
}

}  // namespace

analytics::LogRecord record_of(const Call& call, const http::Response& response, analytics::Operation operation,
                               std::string_view service, bool timed_out) {
  const auto& request = call.http;
  const auto header = [&](std::string_view name) { return request.header(name).value_or(""); };
  const auto taken = std::chrono::steady_clock::now() - call.begun;
  const auto ms = static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(taken).count());
  const auto md5 = header("content-md5");
  analytics::LogRecord record;
  record.started = call.front.now() - std::chrono::duration_cast<Duration>(taken);
  record.operation = operation;
  record.outcome = analytics::outcome_of(response.status, timed_out);
  record.login = login_of(call);
  record.http_status = response.status;
  record.end_to_end_ms = record.server_ms = ms;
  if (record.login == Login::kKey && call.authenticated) record.requester = call.identity.account;
  if (record.login == Login::kBearer) {
    record.user_id = call.identity.object_id;
    record.tenant_id = call.identity.tenant_id;
  }
  record.owner = call.account();
  record.service = service;
  record.url.append(request.tls ? "https://" : "http://").append(call.host);
  record.url += without_signature(request.target);
  record.object_key.append("/").append(call.account()).append("/").append(call.resource.rest);
  record.request_id = request.request_id;
  record.address = request.remote_address;
  record.version = header("x-ms-version");
  record.request_head_bytes = head_bytes(request);
  record.request_body_bytes = request.body != nullptr ? request.body->bytes_read() : 0;
  record.response_head_bytes = response.headers.text().size();
  record.response_body_bytes = body_bytes(response);
  record.content_length = parse_number<std::uint64_t>(header("content-length")).value_or(0);
  record.request_md5 = md5.empty() ? header("x-ms-blob-content-md5") : md5;
  record.server_md5 = response.headers.find("Content-MD5").value_or("");
  record.etag = response.headers.find("ETag").value_or("");
  record.last_modified = response.headers.find("Last-Modified").value_or("");
  record.conditions = conditions_of(request);
  record.user_agent = header("user-agent");
  record.referrer = header("referer");
  record.client_request_id = header("x-ms-client-request-id");
  return record;
}

}  // namespace tidemark::service
