// A blocking HTTP client for the command line, by libcurl: TLS, time-outs, and one connection that is kept for the next
// request.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace tidemark::cli {

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

struct HttpReply {
  long status = 0;
  std::string body;
};

/// Receives an answer's body as it comes.
using TakePiece = std::function<void(std::string_view)>;

class HttpClient {
 public:
  /// `base_url`: "https://host:port/prefix"; kConfigInvalid if it is no http:// or https:// URL. `ca_file`:
  /// certificates (PEM) to trust beside the system's; empty for none. `setting`: the setting by which a person changes
  /// the URL.
  static Result<HttpClient> create(std::string base_url, std::string ca_file, const char* setting);

  /// `path` is appended to the base. The reply has the body, or `each`, if given, receives it; the body of a refusal is
  /// always in the reply. kUnavailable if there is no answer.
  Result<HttpReply> send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                         std::string_view body, const TakePiece* each = nullptr);
  /// Returns a header of the last reply; empty if absent.
  [[nodiscard]] std::string header(const char* name) const;
  [[nodiscard]] const std::string& prefix() const { return prefix_; }      // "/devstoreaccount1"
  [[nodiscard]] const std::string& base_url() const { return base_url_; }  // without a trailing '/'

 private:
  using Handle = std::unique_ptr<void, void (*)(void*)>;  // libcurl's
  HttpClient(std::string base_url, std::string ca_file, const char* setting, Handle handle);

  std::string base_url_, prefix_, ca_file_;
  const char* setting_;
  Handle handle_;
};

}  // namespace tidemark::cli
