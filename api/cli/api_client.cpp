#include "api/cli/api_client.h"

#include "common/auth/bearer_token.h"
#include "common/http/host_name.h"

namespace tidemark::cli {
namespace {

ErrorCode code_of(long status) {
  if (status == 404) return ErrorCode::kNotFound;
  if (status == 503) return ErrorCode::kUnavailable;
  return status < 500 ? ErrorCode::kInvalidInput : ErrorCode::kInternalError;
}

/// "https://name:port/prefix" to "name".
std::string_view host_of(std::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  url = url.substr(0, url.find('/'));
  const auto user = url.rfind('@');
  return http::host_name(url.substr(user == std::string_view::npos ? 0 : user + 1));
}

/// The api's advice is a request; here there is a command for it.
void name_command(std::string& message) {
  constexpr std::string_view kRequest = "PUT /v1/tables/NAME/feed";
  if (const auto at = message.find(kRequest); at != message.npos) {
    message.replace(at, kRequest.size(), "tidemark feed put NAME");
  }
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
  name_command(error.message);
  error.fields.emplace_back("code", body.value("code", ""));
  return error;
}

/// The token of the stack here is for nobody elsewhere.
std::string token_for(const GlobalOptions& options) {
  if (!options.token.empty() || !http::is_loopback_name(host_of(options.api))) return options.token;
  return auth::stored_bearer_token(options.data).value_or("");
}

}  // namespace

Result<ApiClient> ApiClient::create(const GlobalOptions& options) {
  return ApiClient(TRY(HttpClient::create(options.api, options.ca_file, "--api (TIDEMARK_API)")), token_for(options),
                   options.reason);
}

Result<nlohmann::json> ApiClient::call(const std::string& method, const std::string& path, const std::string& body,
                                       const HttpHeaders& extra) {
  auto headers = extra;
  if (!body.empty()) headers.emplace_back("Content-Type", "application/json");
  return ask(method, path, body, std::move(headers));
}

Result<nlohmann::json> ApiClient::upload(const std::string& path, std::string_view bytes, HttpHeaders extra) {
  extra.emplace_back("Content-Type", "application/octet-stream");
  return ask("PUT", path, bytes, std::move(extra));
}

Result<nlohmann::json> ApiClient::ask(const std::string& method, const std::string& path, std::string_view body,
                                      HttpHeaders headers) {
  headers.emplace_back("Accept", "application/json");
  // A header is of few letters.
  if (method != "GET" && !reason_.empty()) headers.emplace_back("X-Tidemark-Reason", percent_encode(reason_));
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
