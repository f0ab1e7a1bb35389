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

/// Turns "https://name:port/prefix" into "name".
std::string_view host_of(std::string_view url) {
  url.remove_prefix(std::min(url.size(), url.find("://") + 3));
  url = url.substr(0, url.find('/'));
  const auto user = url.rfind('@');
  return http::host_name(url.substr(user == std::string_view::npos ? 0 : user + 1));
}

/// A message names the missing object at its end: turns "...: TABLE" or "...: TABLE/NAME" into "TABLE".
std::string table_at_end(const std::string& message) {
  const auto colon = message.rfind(": ");
  const auto missing = colon == message.npos ? std::string() : message.substr(colon + 2);
  return missing.substr(0, missing.find('/'));
}

/// Reads the api's explanation of a refusal; the api's name of the code is added for report().
Error problem_of(const HttpReply& reply, const std::string& url) {
  const auto body = nlohmann::json::parse(reply.body, nullptr, false);
  if (!body.is_object() || !body.contains("code")) {
    return make_error(ErrorCode::kInternalError, url + " answered with status " + std::to_string(reply.status) +
                                                     ", and not as the api does: is --api right?");
  }
  auto error = make_error(code_of(reply.status), body.value("detail", ""));
  if (error.message.empty()) error.message = body.value("title", "");
  error.message = with_command(error.message, table_at_end(error.message));
  error.fields.emplace_back("code", body.value("code", ""));
  return error;
}

/// The token of the local stack must not be sent to another host.
std::string token_for(const GlobalOptions& options) {
  if (!options.token.empty() || !http::is_loopback_name(host_of(options.api))) return options.token;
  return auth::stored_bearer_token(options.data).value_or("");
}

}  // namespace

std::string with_command(std::string message, const std::string& table) {
  constexpr std::string_view kNoFeed = "The table has no change feed.";
  if (message.starts_with(kNoFeed)) {
    return table + " has no change feed: declare one with `tidemark feed put " + table + "`.";
  }
  constexpr std::string_view kPut = "PUT /v1/tables/", kGroup = "/consumers/";
  const auto put = message.find(kPut), group = message.find(kGroup);
  if (put == message.npos || group == message.npos || !message.ends_with('.')) return message;
  message.pop_back();
  message.replace(group, kGroup.size(), " ");
  message.replace(put, kPut.size(), "`tidemark consumer put ");
  return message + "`.";
}

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
  // A header may hold only few characters.
  if (method != "GET" && !reason_.empty()) headers.emplace_back("X-Tidemark-Reason", percent_encode(reason_));
  auto reply = TRY(http_.send(method, path, authorized(std::move(headers)), body));
  status_ = reply.status;
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
