// A blocking HTTP client for the command line, by libcurl: TLS, time-outs, one connection that is kept for the next
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
  unsigned status = 0;
  HttpHeaders headers;
  std::string body;
  [[nodiscard]] std::string header(std::string_view name) const;  // empty if absent
};

class HttpClient {
 public:
  /// `base_url`: "https://host:port/prefix"; kConfigInvalid if it is no http:// or https:// URL. `ca_file`:
  /// certificates (PEM) to trust beside the system's; empty for none.
  static Result<HttpClient> create(std::string base_url, std::string ca_file);

  /// `path` is appended to the base. kUnavailable if there is no answer.
  Result<HttpReply> send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                         std::string_view body);
  /// GET of an answer that comes bit by bit: `each` gets the pieces, unless the answer is a refusal, which the reply
  /// has.
  Result<HttpReply> stream(const std::string& path, const HttpHeaders& headers,
                           const std::function<void(std::string_view)>& each);
  [[nodiscard]] const std::string& prefix() const { return prefix_; }      // "/devstoreaccount1"
  [[nodiscard]] const std::string& base_url() const { return base_url_; }  // without a trailing '/'

 private:
  struct Transfer;
  using Handle = std::unique_ptr<void, void (*)(void*)>;  // libcurl's
  HttpClient(std::string base_url, std::string ca_file, Handle handle);
  Result<HttpReply> perform(Transfer& transfer);

  std::string base_url_, prefix_, ca_file_;
  Handle handle_;
};

}  // namespace tidemark::cli
