// The api's JSON calls as functions.
#pragma once
#include <nlohmann/json.hpp>

#include <functional>

#include "api/cli/http_client.h"
#include "api/cli/options.h"

namespace tidemark::cli {

class ApiClient {
 public:
  static Result<ApiClient> create(const GlobalOptions& options);
  /// The answer's JSON (null if it has no body); a problem+json answer becomes an Error with its detail.
  Result<nlohmann::json> call(const std::string& method, const std::string& path, const std::string& body = {});

 private:
  ApiClient(HttpClient http, std::string token) : http_(std::move(http)), token_(std::move(token)) {}
  HttpClient http_;
  std::string token_;
};

/// One call; prints its answer, as JSON or for people by `print`. The command's exit code.
int call_and_print(const GlobalOptions& options, const std::string& method, const std::string& path,
                   const std::string& body, const std::function<void(const nlohmann::json&)>& print);

}  // namespace tidemark::cli
