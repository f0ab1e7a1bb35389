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

/// The request's body, which the handler reads in order. If the handler leaves a part of it unread, the server drains
/// that part or closes the connection.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// The declared length; nothing if the body is chunked or there is none.
  [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;
  /// Returns the whole body; kRequestBodyTooLarge if its length, actual or declared, is more than `limit`.
  virtual Task<Result<std::string>> read_all(std::size_t limit) = 0;
  /// Returns the next piece, of at most `limit` bytes; empty at the end.
  virtual Task<Result<std::string>> read_some(std::size_t limit) = 0;
  /// The number of bytes read so far.
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
  TraceContext trace;                                                  // from the headers; may be empty
  /// The operation that the handler recognised, for metrics and spans: one of a fixed set of names, which live as long
  /// as the handler. Empty if the request has no operation with a name.
  std::string_view operation;
  /// How long the handler waited for an event because the client asked it to; this does not count as time to answer.
  Duration waited{};
  /// Returns true once the peer has closed its side, so that nobody would get the answer. Costs a system call; meant
  /// for long work.
  std::function<bool()> peer_gone;
  /// Returns the first header with this name, ignoring case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// Pieces of a streamed response body, in order.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// Returns the next piece; empty at the end. An error aborts the connection (the client sees a short body).
  virtual Task<Result<std::string>> next() = 0;
};

/// The header lines of a response as they will be sent, in one string instead of two for each line.
class HeaderLines {
 public:
  /// Moves from line to line; dereferencing gives name and value.
  class Iterator {
   public:
    explicit Iterator(std::string_view rest) : rest_(rest) {}
    std::pair<std::string_view, std::string_view> operator*() const;
    void operator++() { rest_.remove_prefix(rest_.find('\n') + 1); }
    bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

   private:
    std::string_view rest_;
  };

  /// Replaces control characters in the value by spaces, so that it cannot inject another header and every client can
  /// read it.
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  /// Returns "Name: value\r\n" for each header.
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
  /// After the response, the connection's next request is not read for this long, or up to twice as long. Without the
  /// pause, refusing a client that asks too much and does not wait would cost as much as answering it.
  Duration pause{};
  /// Appends a header.
  void set(std::string_view name, std::string_view value);
};

/// Returns a phrase such as "Not Found".
std::string_view reason_phrase(unsigned status);

/// Called on an I/O thread for each request. An exception is logged and answered with 500.
using Handler = std::function<Task<Response>(Request&)>;

}  // namespace tidemark::http
