#include "api/cli/api_client.h"

namespace tidemark::cli {
namespace {

ErrorCode code_of(long status) {
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 503) return ErrorCode::kUnavailable;
  return status < 500 ? ErrorCode::kInvalidInput : ErrorCode::kInternalError;
}

/// What the api says of a refusal; its own name of the code goes along for report().
Error problem_of(const HttpReply& reply, const std::string& url) {
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("code")) {
    return make_error(ErrorCode::kInternalError, url + " answered with status " + std::to_string(reply.status) +
                                                     ", and not as the api does: is --api right?");
  }
  auto error = make_error(code_of(reply.status), body.value("detail", ""));
  if (error.message.empty()) error.message = body.value("title", "");
  error.fields.emplace_back("code", body.value("code", ""));
  return error;
}

}  // namespace

Result<ApiClient> ApiClient::create(const GlobalOptions& options) {
  return ApiClient(TRY(HttpClient::create(options.api, options.ca_file)), options.token);
}

Result<nlohmann::json> ApiClient::call(const std::string& method, const std::string& path, const std::string& body,
                                       const HttpHeaders& extra) {
  auto headers = extra;
  headers.emplace_back("Accept", "application/json");
  if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
  auto reply = TRY(http_.send(method, path, authorized(std::move(headers)), body));
  if (reply.status >= 400) return fail(problem_of(reply, http_.base_url()));
  if (reply.body.empty()) return nlohmann::json();
  auto parsed = nlohmann::json::parse(reply.body, nullptr, false);
  if (parsed.is_discarded()) return fail(ErrorCode::kInternalError, "the server's answer is not JSON");
  return parsed;
}

HttpHeaders ApiClient::authorized(HttpHeaders headers) const {
  if (!token_.empty()) headers.emplace_back("Authorization", "Bearer " + token_);
  return headers;
}

Result<void> ApiClient::stream(const std::string& path, const TakePiece& each) {
  auto reply = TRY(http_.send("GET", path, authorized({{"Accept", "text/event-stream"}}), {}, &each));
  if (reply.status >= 400) return fail(problem_of(reply, http_.base_url()));
  return {};
}

}  // namespace tidemark::cli
