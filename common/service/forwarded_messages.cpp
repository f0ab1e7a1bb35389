#include "common/service/forwarded_messages.h"

namespace tidemark::service::forwarded {

http::Request request_of(const Request& from, http::BodyReader& body) {
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

Request head_of(std::size_t shard, const std::string& sender, const http::Request& request) {
  Request head{.shard = shard,
               .sender = sender,
               .method = std::string(request.method),
               .target = std::string(request.target),
               .headers = {},
               .remote_address = request.remote_address,
               .tls = request.tls,
               .request_id = request.request_id,
               .length = request.body->content_length(),
               .body = {}};
  for (const auto& [name, value] : request.headers) head.headers.emplace_back(name, value);
  return head;
}

http::Response response_of(Response from) {
  http::Response response;
  response.status = static_cast<unsigned>(from.status);
  for (const auto& [name, value] : from.headers) response.set(name, value);
  response.head_content_length = from.head_content_length;
  if (!from.streamed) response.body = std::move(from.body);
  return response;
}

Response told(http::Response response) {
  Response to{.status = response.status,
              .headers = {},
              .body = std::move(response.body),
              .head_content_length = response.head_content_length,
              .streamed = response.source != nullptr,
              .length = response.source_length,
              .rest = {}};
  for (const auto [name, value] : response.headers) to.headers.emplace_back(name, value);
  return to;
}

}  // namespace tidemark::service::forwarded
