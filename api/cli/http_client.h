// A small blocking HTTP client for the command line. One connection, kept alive; reconnects when the peer closed it.
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"

namespace tidemark::cli {

struct HttpReply {
  unsigned status = 0;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
  [[nodiscard]] std::string header(std::string_view name) const;  // empty if absent
};

using HttpHeaders = std::vector<std::pair<std::string, std::string>>;

class HttpClient {
 public:
  /// "http://host:port[/prefix]"; kConfigInvalid for anything else.
  static Result<HttpClient> create(const std::string& base_url);
  HttpClient(HttpClient&&) noexcept;
  HttpClient& operator=(HttpClient&&) noexcept;
  ~HttpClient();

  /// `path` is appended to the base's prefix. kUnavailable if the server cannot be reached.
  Result<HttpReply> send(const std::string& method, const std::string& path, const HttpHeaders& headers,
                         std::string body);
  /// GET of an answer that comes bit by bit: `each` gets the pieces of a good one; the body of any other is in the
  /// reply.
  Result<HttpReply> stream(const std::string& path, const HttpHeaders& headers,
                           const std::function<void(std::string_view)>& each);
  [[nodiscard]] const std::string& prefix() const;    // "/devstoreaccount1"
  [[nodiscard]] const std::string& base_url() const;  // as given, without a trailing '/'

 private:
  struct Connection;
  [[nodiscard]] Error unreachable(const std::string& why) const;
  explicit HttpClient(std::unique_ptr<Connection> connection);
  std::unique_ptr<Connection> connection_;
};

}  // namespace tidemark::cli
