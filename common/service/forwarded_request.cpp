#include "common/service/forwarded_request.h"

#include "common/http/text_body.h"
#include "common/rpc/wire.h"

namespace tidemark::service {
namespace {

constexpr std::string_view kMethod = "http.request";
/// A long poll takes 30 s at most.
constexpr Duration kDeadline = std::chrono::seconds(40);

using Headers = std::vector<std::pair<std::string, std::string>>;

struct ForwardedRequest {
  std::uint64_t shard = 0;
  std::string method, target;
  Headers headers;
  std::string remote_address;
  bool tls = false;
  std::string request_id, body;
};

struct ForwardedResponse {
  std::uint64_t status = 0;
  Headers headers;
  std::string body;
  std::optional<std::uint64_t> head_content_length;
};

/// Its parts are of `from`, which must outlive it, as the body must.
http::Request request_of(const ForwardedRequest& from, http::BodyReader& body) {
  http::Request request;
  request.method = from.method;
  request.target = from.target;
  request.path = request.target.substr(0, request.target.find('?'));
  if (request.path.size() < request.target.size()) request.query = request.target.substr(request.path.size() + 1);
  for (const auto& [name, value] : from.headers) request.headers.emplace_back(name, value);
  request.remote_address = from.remote_address;
  request.tls = from.tls;
  request.request_id = from.request_id;
  request.body = &body;
  return request;
}

http::Response response_of(ForwardedResponse from) {
  http::Response response;
  response.status = static_cast<unsigned>(from.status);
  for (const auto& [name, value] : from.headers) response.set(name, value);
  response.body = std::move(from.body);
  response.head_content_length = from.head_content_length;
  return response;
}

std::string encoded(http::Response response) {
  ForwardedResponse to{response.status, {}, std::move(response.body), response.head_content_length};
  for (const auto [name, value] : response.headers) to.headers.emplace_back(name, value);
  return wire::encode(to);
}

}  // namespace

Task<Result<std::optional<http::Response>>> RequestForwarder::forward(std::size_t shard, const http::Request& request) {
  if (CO_TRY(co_await router_.find(shard)).here) co_return std::optional<http::Response>();
  ForwardedRequest to{shard,
                      std::string(request.method),
                      std::string(request.target),
                      {},
                      request.remote_address,
                      request.tls,
                      request.request_id,
                      {}};
  for (const auto& [name, value] : request.headers) to.headers.emplace_back(name, value);
  to.body = CO_TRY(co_await request.body->read_all(most_bytes_));
  auto payload = wire::encode(to);
  auto reply = CO_TRY(co_await router_.forward({shard, kDeadline}, std::string(kMethod), payload));
  // It has come here meanwhile, and the body is read already.
  if (!reply) reply = CO_TRY(co_await answer(std::move(payload)));
  auto answered = wire::decode<ForwardedResponse>(*reply);
  if (!answered) co_return fail(error_for_log(ErrorCode::kInternalError, "malformed answer of another process"));
  co_return std::optional(response_of(std::move(*answered)));
}

rpc::Dispatch RequestForwarder::beside(rpc::Dispatch store) {
  return [this, store = std::move(store)](const std::string& method, std::string payload) {
    return method == kMethod ? answer(std::move(payload)) : store(method, std::move(payload));
  };
}

std::optional<CallPlace> RequestForwarder::place_of(std::string_view method, std::string_view payload) {
  if (method != kMethod) return std::nullopt;
  ByteReader in(payload);
  const auto shard = in.varint();
  return in.ok() ? std::optional(CallPlace{shard, kDeadline}) : std::nullopt;
}

Task<Result<std::string>> RequestForwarder::answer(std::string payload) {
  auto from = wire::decode<ForwardedRequest>(std::exchange(payload, {}));
  if (!from) co_return fail(error_for_log(ErrorCode::kInvalidInput, "malformed request of another process"));
  http::TextBody body(std::exchange(from->body, {}));
  auto request = request_of(*from, body);
  co_return encoded(co_await serve_(request));
}

}  // namespace tidemark::service
