#include "api/cli/api_client.h"

#include <unistd.h>

#include <iostream>

namespace tidemark::cli {
namespace {

Error problem_of(const HttpReply& reply) {
  auto error = make_error(reply.status == 404 ? ErrorCode::kNotFound : ErrorCode::kInvalidInput,
                          "the server answered with status " + std::to_string(reply.status));
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  if (!body.is_object()) return error;
  error.message = body.value("detail", error.message);
  if (error.message.empty()) error.message = body.value("title", error.message);
  return error;
}

}  // namespace

int report(const GlobalOptions& options, const Error& error) {
  if (options.json) {
    std::cerr << nlohmann::json{{"error", {{"code", azure_name_of(error.code)}, {"message", error.message}}}} << "\n";
  } else {
    std::cerr << "error: " << error.message << "\n";
  }
  return http_status_of(error.code) == 404 ? kNotFoundExit : kFailed;
}

Result<ApiClient> ApiClient::create(const GlobalOptions& options) {
  auto http = HttpClient::create(options.api);
  if (!http) return fail(std::move(http.error()));
  return ApiClient(std::move(*http), options.token);
}

Result<nlohmann::json> ApiClient::call(const std::string& method, const std::string& path, const std::string& body,
                                       const HttpHeaders& extra) {
  auto headers = extra;
  headers.emplace_back("Accept", "application/json");
  if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
  auto reply = http_.send(method, path, authorized(std::move(headers)), body);
  if (!reply) return fail(std::move(reply.error()));
  if (reply->status >= 400) return fail(problem_of(*reply));
  if (reply->body.empty()) return nlohmann::json();
  auto parsed = nlohmann::json::parse(reply->body, nullptr, false);
  if (parsed.is_discarded()) return fail(ErrorCode::kInternalError, "the server's answer is not JSON");
  return parsed;
}

HttpHeaders ApiClient::authorized(HttpHeaders headers) const {
  if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
  return headers;
}

Result<void> ApiClient::stream(const std::string& path, const std::function<void(std::string_view)>& each) {
  auto reply = http_.stream(path, authorized({{"Accept", "text/event-stream"}}), each);
  if (!reply) return fail(std::move(reply.error()));
  if (reply->status >= 400) return fail(problem_of(*reply));
  return {};
}

}  // namespace tidemark::cli
