// Requests to a store, one after the other, for a client that has to know how sure an outcome is: a request that was
// never sent was not done, and the outcome of one that was sent but not answered is unknown. For one thread.
#pragma once
#include <chrono>
#include <string>
#include <string_view>

namespace tidemark::histories {

struct HttpRequest {
  std::string method, target;
  std::string headers;  // "Name: value\r\n" each
  std::string body;
};

struct HttpAnswer {
  bool sent = false;
  int status = 0;  // 0: there was no answer
  std::string head, body;
  [[nodiscard]] std::string_view header(std::string_view name) const;  // empty if it is absent
  [[nodiscard]] bool ok() const { return status >= 200 && status < 300; }
  /// Tells whether the request was certainly not done, and never will be.
  [[nodiscard]] bool refused() const { return status >= 400 && status < 500; }
};

class HttpConnection {
 public:
  HttpConnection(int port, std::chrono::milliseconds patience) : port_(port), patience_(patience) {}
  ~HttpConnection() { close(); }
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;

  HttpAnswer ask(const HttpRequest& request);

 private:
  bool open();
  void close();
  bool send_all(std::string_view bytes) const;
  bool read_more();
  bool read_answer(const HttpRequest& request, HttpAnswer& answer);
  bool read_body(HttpAnswer& answer);
  bool read_chunks(HttpAnswer& answer);
  bool fill(std::size_t bytes);

  int port_;
  std::chrono::milliseconds patience_;
  int socket_ = -1;
  std::string received_;
};

}  // namespace tidemark::histories
