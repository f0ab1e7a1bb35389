// The api's JSON calls as functions.
#pragma once
#include <chrono>
#include <nlohmann/json.hpp>

#include "api/cli/http_client.h"
#include "api/cli/options.h"

namespace tidemark::cli {

/// The stack may be restarted under a job; the job goes on, and a client that follows its stream goes on, too.
inline constexpr auto kStreamPatience = std::chrono::seconds(30);
inline constexpr auto kStreamAgainAfter = std::chrono::milliseconds(500);
/// How often a command looks at the thing for which it waits.
inline constexpr auto kLookEvery = std::chrono::milliseconds(200);

/// The api's advice names a request; this names the command for it instead.
std::string with_command(std::string message, const std::string& table);

class ApiClient {
 public:
  static Result<ApiClient> create(const GlobalOptions& options);
  /// Returns the answer's JSON (null if it has no body); a problem+json answer becomes an Error with its detail.
  Result<nlohmann::json> call(const std::string& method, const std::string& path, const std::string& body = {},
                              const HttpHeaders& extra = {});

  /// Returns the status of the last answer; 201 tells that a thing was made.
  [[nodiscard]] long status() const { return status_; }

  /// PUTs any bytes; otherwise like call().
  Result<nlohmann::json> upload(const std::string& path, std::string_view bytes, HttpHeaders extra);

  /// Receives the pieces of an answer that has no end yet.
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
  long status_ = 0;
};

}  // namespace tidemark::cli
