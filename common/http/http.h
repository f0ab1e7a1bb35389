// HTTP as the services see it: a request with a streamed body, and a response. It has no sockets and no Beast types.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/async.h"
#include "common/base/trace_context.h"

namespace tidemark::http {

/// The request's body, which the handler reads in order. If the handler leaves some of it unread, the rest is drained
/// or the connection is closed.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// The declared length; nothing if the body is chunked or there is none.
  [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;
  /// The whole body; kRequestBodyTooLarge if it is, or is declared to be, longer than `limit`.
  virtual Task<Result<std::string>> read_all(std::size_t limit) = 0;
  /// The next piece, at most `limit` bytes; empty at the end.
  virtual Task<Result<std::string>> read_some(std::size_t limit) = 0;
  /// So far.
  [[nodiscard]] virtual std::uint64_t bytes_read() const { return 0; }
};

struct Request {
  std::string_view method;                                             // as sent, upper case
  std::string_view target;                                             // path?query, as on the wire
  std::string_view path;                                               // raw, percent-encoded
  std::string_view query;                                              // raw, without '?'
  std::vector<std::pair<std::string_view, std::string_view>> headers;  // in order, names as sent, values trimmed
  std::string remote_address;                                          // "127.0.0.1"
  bool tls = false;                                                    // the client used HTTPS
  std::string request_id;                                              // GUID, made for this request
  BodyReader* body = nullptr;                                          // never null inside a handler
  TraceContext trace;                                                  // if it belongs to one, from its headers
  /// What the handler found it to ask for, for metrics and spans: one of a fixed set of names, which live as long as
  /// the handler. Empty: nothing that has a name.
  std::string_view operation;
  /// How long the handler waited for something to happen because the client asked it to, which is no time to answer.
  Duration waited{};
  /// True once the peer has closed its side, so that nobody would get the answer. Costs a system call; for long work.
  std::function<bool()> peer_gone;
  /// The first header with this name, whatever its case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// Pieces of a streamed response body, in order.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// The next piece; empty at the end. An error aborts the connection (the client sees a short body).
  virtual Task<Result<std::string>> next() = 0;
};

/// The header lines of a response as they will be sent, in one string instead of two for each line.
class HeaderLines {
 public:
  /// Goes from line to line, as a loop over all of them does; gives name and value.
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::pair<std::string_view, std::string_view> operator*() const;
    void operator++() { rest_.remove_prefix(rest_.find('\n') + 1); }
    bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;
  };

  /// A control character in the value becomes a space: it cannot inject another header, and every client reads it.
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  /// "Name: value\r\n" for each.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] Iterator begin() const { return Iterator(text_); }
  [[nodiscard]] Iterator end() const { return Iterator({}); }

 private:
  std::string text_;
};

struct Response {
  unsigned status = 200;
  HeaderLines headers;  // without Content-Length, Date and Connection, which the server adds
  std::string body;
  std::unique_ptr<BodySource> source;                // instead of body; source_length is then the Content-Length
  std::optional<std::uint64_t> source_length;        // if absent, a source is sent chunked
  std::optional<std::uint64_t> head_content_length;  // for HEAD: the length to declare, without a body
  /// After it, the connection's next request is not read for so long, or up to twice as long: to refuse whoever asks
  /// too much, and does not wait, would otherwise cost as much as an answer.
  Duration pause{};
  /// Appends a header.
  void set(std::string_view name, std::string_view value);
};

/// "Not Found"
std::string_view reason_phrase(unsigned status);

/// Called on an I/O thread for each request. An exception is logged and answered with 500.
using Handler = std::function<Task<Response>(Request&)>;

}  // namespace tidemark::http
