// Batches: deletes and changes of tiers in one request, each authorised and answered separately.
#include "blob_store/rest/blob_body.h"
#include "blob_store/rest/blob_operations.h"
#include "blob_store/rest/blob_routes.h"
#include "common/base/encoding.h"
#include "common/protocol/multipart.h"
#include "common/protocol/protocol_errors.h"

namespace tidemark::blob_store::operations {
namespace {

constexpr std::size_t kMaxBatchBytes = 4UL << 20;
constexpr std::size_t kMaxBatchParts = 256;

class NoBody : public http::BodyReader {
 public:
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return 0; }
  Task<Result<std::string>> read_all(std::size_t) override { co_return std::string(); }
  Task<Result<std::string>> read_some(std::size_t) override { co_return std::string(); }
};

/// A part of a batch, which goes through the routes as a request of its own.
struct Part {
  std::string host;
  protocol::BatchPart from;
};

/// Returns the path and the query of a URI, which may be absolute.
std::pair<std::string_view, std::string_view> split_uri(std::string_view uri) {
  if (const auto scheme = uri.find("://"); !uri.starts_with('/') && scheme != std::string_view::npos) {
    uri.remove_prefix(std::min(uri.find('/', scheme + 3), uri.size()));
  }
  const auto question = std::min(uri.find('?'), uri.size());
  return {uri.substr(0, question), uri.substr(std::min(question + 1, uri.size()))};
}

/// In path style, some clients send and sign a path without the account, as they would to a host of the account.
std::string host_of(const Call& call, std::string_view path) {
  const bool path_style = call.http.path.size() > call.resource.rest.size() + 1;
  if (!path_style || !path.starts_with('/')) return std::string(call.host);
  const auto first = path.substr(1, path.find('/', 1) - 1);
  const bool named = first == call.account() || first == call.account() + "-secondary";
  return named ? std::string(call.host) : call.account() + ".localhost";
}

Result<Part> read_part(const Call& call, std::string_view text) {
  Part part;
  part.from = TRY(protocol::parse_http_part(text));
  part.host = host_of(call, split_uri(part.from.uri).first);
  return part;
}

/// Returns the path within the account: container and blob.
std::string_view resource_of(const Call& call, const Part& part) {
  auto path = split_uri(part.from.uri).first;
  if (path.starts_with('/')) path.remove_prefix(1);
  const bool path_style = call.http.path.size() > call.resource.rest.size() + 1;
  if (path_style && part.host == call.host) path.remove_prefix(std::min(path.find('/'), path.size() - 1) + 1);
  return path;
}

/// Checks that a part deletes a blob or sets its tier, and that a part of a container's batch stays in that container.
Result<void> check_part(const Call& call, const Part& part) {
  const auto path = split_uri(part.from.uri).first;
  const auto parameters = QueryParameters::parse(split_uri(part.from.uri).second);
  if (!path.starts_with('/') || path.size() < 2 || !parameters) {
    return protocol::malformed_batch("the URL of a part cannot be read");
  }
  const auto resource = resource_of(call, part);
  const auto slash = resource.find('/');
  const auto comp = parameters->find("comp").value_or("");
  const bool erases = part.from.method == "DELETE" && comp.empty();
  const bool sets_tier = part.from.method == "PUT" && comp == "tier";
  if ((!erases && !sets_tier) || slash == std::string_view::npos || slash + 1 == resource.size()) {
    return protocol::malformed_batch("a part deletes a blob or sets its tier");
  }
  if (!call.container.empty() && percent_decode(resource.substr(0, slash), false) != call.container) {
    return protocol::malformed_batch("a part is outside of the container");
  }
  return {};
}

Result<std::vector<Part>> read_parts(const Call& call, std::string_view body) {
  const auto boundary = protocol::multipart_boundary(call.header("Content-Type"));
  if (!boundary) return fail(protocol::invalid_header("Content-Type", call.header("Content-Type")));
  const auto texts = protocol::split_parts(body, *boundary, kMaxBatchParts + 1);
  if (texts.empty()) return protocol::malformed_batch("it has no parts");
  if (texts.size() > kMaxBatchParts) return protocol::malformed_batch("it has more than 256 parts");
  std::vector<Part> parts;
  for (const auto text : texts) {
    auto part = TRY(read_part(call, text));
    TRY(check_part(call, part));
    parts.push_back(std::move(part));
  }
  return parts;
}

Task<http::Response> serve_part(Call& call, const Part& part) {
  NoBody body;
  http::Request request;
  request.method = part.from.method;
  request.target = part.from.uri;
  std::tie(request.path, request.query) = split_uri(part.from.uri);
  for (const auto& header : part.from.headers) {
    if (!iequals_ascii(header.first, "host")) request.headers.push_back(header);
  }
  request.headers.emplace_back("Host", part.host);
  request.remote_address = call.http.remote_address;
  request.tls = call.http.tls;
  request.request_id = call.http.request_id;
  request.body = &body;
  co_return co_await call.front.serve_part(request);
}

void append_answer(std::string& out, const Call& call, const Part& part, std::string_view boundary,
                   const http::Response& answer) {
  out.append("--").append(boundary).append("\r\nContent-Type: application/http\r\n");
  if (!part.from.content_id.empty()) out.append("Content-ID: ").append(part.from.content_id).append("\r\n");
  out.append("\r\nHTTP/1.1 ").append(std::to_string(answer.status)).append(" ");
  out.append(http::reason_phrase(answer.status)).append("\r\n");
  for (const auto& [name, value] : answer.headers) {
    // Each part is answered with the version of the batch.
    const auto told = iequals_ascii(name, "x-ms-version") ? call.header("x-ms-version") : std::string(value);
    out.append(name).append(": ").append(told.empty() ? value : told).append("\r\n");
  }
  if (!answer.body.empty()) out.append("Content-Length: ").append(std::to_string(answer.body.size())).append("\r\n");
  out.append("\r\n").append(answer.body).append("\r\n");
}

}  // namespace

Answer batch(Call& call) {
  const auto body = CO_TRY(co_await receive_text(call, kMaxBatchBytes));
  const auto parts = CO_TRY(read_parts(call, body));
  const auto boundary = "batchresponse_" + call.http.request_id;
  auto response = empty_response(202);
  response.set("Content-Type", "multipart/mixed; boundary=" + boundary);
  for (const auto& part : parts) append_answer(response.body, call, part, boundary, co_await serve_part(call, part));
  response.body.append("--").append(boundary).append("--\r\n");
  co_return response;
}

}  // namespace tidemark::blob_store::operations
