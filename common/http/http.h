// HTTP as the services see it: a request with a streamed body in, a response out. No socket and no Beast type here.
#pragma once
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/async.h"

namespace tidemark::http {

/// The request's body, read in order by the handler. What the handler leaves unread is drained or the connection is
/// closed.
class BodyReader {
 public:
  virtual ~BodyReader() = default;
  /// Declared length; nothing for chunked bodies or none.
  [[nodiscard]] virtual std::optional<std::uint64_t> content_length() const = 0;
  /// The whole body; kRequestBodyTooLarge if it is or says it is longer than `limit`.
  virtual Task<Result<std::string>> read_all(std::size_t limit) = 0;
  /// The next piece, at most `limit` bytes; empty at the end.
  virtual Task<Result<std::string>> read_some(std::size_t limit) = 0;
};

struct Request {
  std::string_view method;                                             // as sent, upper case
  std::string_view target;                                             // as on the wire: path?query
  std::string_view path;                                               // raw, percent-encoded
  std::string_view query;                                              // raw, without '?'
  std::vector<std::pair<std::string_view, std::string_view>> headers;  // in order, names as sent, values trimmed
  std::string remote_address;                                          // "127.0.0.1"
  std::string request_id;                                              // GUID, made for this request
  BodyReader* body = nullptr;                                          // never null inside a handler
  /// True once the peer has closed its side: the answer would find nobody. One system call; for work that takes long.
  std::function<bool()> peer_gone;
  /// First header with this name, whatever the case.
  [[nodiscard]] std::optional<std::string_view> header(std::string_view name) const;
};

/// Pieces of a streamed response body, in order.
class BodySource {
 public:
  virtual ~BodySource() = default;
  /// The next piece; empty at the end. An error aborts the connection (the client sees a short body).
  virtual Task<Result<std::string>> next() = 0;
};

/// The header lines of a response as they will be sent: one string instead of two for each of them.
class HeaderLines {
 public:
  class Iterator;
  using value_type = std::pair<std::string_view, std::string_view>;  // name and value
  using iterator = Iterator;
  using const_iterator = Iterator;

  /// A line break in the value would start a header of somebody else's choice; it becomes a space.
  void add(std::string_view name, std::string_view value);
  [[nodiscard]] std::optional<std::string_view> find(std::string_view name) const;
  /// "Name: value\r\n" for each.
  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] Iterator begin() const;
  [[nodiscard]] Iterator end() const;

 private:
  std::string text_;
};

class HeaderLines::Iterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = HeaderLines::value_type;
  using difference_type = std::ptrdiff_t;
  using pointer = void;
  using reference = value_type;

  explicit Iterator(std::string_view rest) : rest_(rest) {}
  value_type operator*() const;
  Iterator& operator++();
  Iterator operator++(int) {
    const auto before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Iterator& other) const { return rest_.size() == other.rest_.size(); }

 private:
  std::string_view rest_;
};

struct Response {
  unsigned status = 200;
  HeaderLines headers;  // not Content-Length, Date, Connection: the server adds
  std::string body;
  std::unique_ptr<BodySource> source;                // instead of body; then source_length is the Content-Length
  std::optional<std::uint64_t> source_length;        // absent with a source: chunked
  std::optional<std::uint64_t> head_content_length;  // HEAD: the length to declare (no body is sent)
  bool close = false;
  /// Appends a header.
  void set(std::string_view name, std::string_view value);
};

/// Called on an I/O thread for each request. An exception becomes 500 and is logged.
using Handler = std::function<Task<Response>(Request&)>;

/// QueryParameters as strings of their own.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view raw_query);

}  // namespace tidemark::http
