// The api's JSON calls as functions.
#pragma once
#include <nlohmann/json.hpp>

#include "api/cli/http_client.h"
#include "api/cli/options.h"

namespace tidemark::cli {

class ApiClient {
 public:
  static Result<ApiClient> create(const GlobalOptions& options);
  /// The answer's JSON (null if it has no body); a problem+json answer becomes an Error with its detail.
  Result<nlohmann::json> call(const std::string& method, const std::string& path, const std::string& body = {},
                              const HttpHeaders& extra = {});

  /// PUTs bytes, whatever they are; else like call().
  Result<nlohmann::json> upload(const std::string& path, std::string_view bytes, HttpHeaders extra);

  /// Pieces of an answer that has no end yet.
  Result<void> stream(const std::string& path, const TakePiece& each);

 private:
  [[nodiscard]] HttpHeaders authorized(HttpHeaders headers) const;
  Result<nlohmann::json> ask(const std::string& method, const std::string& path, std::string_view body,
                             HttpHeaders headers);
  ApiClient(HttpClient http, std::string token, std::string reason)
      : http_(std::move(http)), token_(std::move(token)), reason_(std::move(reason)) {}
  HttpClient http_;
  std::string token_;
  std::string reason_;
};

}  // namespace tidemark::cli
