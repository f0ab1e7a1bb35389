// The body of the request being served. A body with a Content-Length is read straight from the socket, a chunked one
// through Beast's parser.
#pragma once
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <memory_resource>

#include "common/http/session.h"

namespace tidemark::http {

using Parser =
    boost::beast::http::request_parser<boost::beast::http::buffer_body, std::pmr::polymorphic_allocator<char>>;

class SessionBody final : public BodyReader {
 public:
  SessionBody(Session& session, Parser& parser, bool expects_continue);
  /// At shutdown a request's frame, and this body with it, may end after its session.
  ~SessionBody() override { context_.body_memory -= held_; }
  SessionBody(const SessionBody&) = delete;
  SessionBody& operator=(const SessionBody&) = delete;
  [[nodiscard]] std::optional<std::uint64_t> content_length() const override { return declared_; }
  Task<Result<std::string>> read_all(std::size_t limit) override;
  Task<Result<std::string>> read_some(std::size_t limit) override;
  [[nodiscard]] std::uint64_t bytes_read() const override { return read_; }
  [[nodiscard]] bool finished() const { return chunked_ ? parser_.is_done() : remaining_ == 0; }
  /// True if the peer still waits for "100 Continue" and will send nothing.
  [[nodiscard]] bool unwanted() const { return expects_continue_; }

 private:
  Task<Result<std::string>> read_sized(std::size_t limit);
  Task<Result<std::string>> read_chunked(std::size_t limit);
  Task<bool> send_continue();
  /// Reserves memory until the request is answered. kServerBusy if all bodies together need too much.
  Result<void> hold(std::size_t bytes);
  Session& session_;
  ServerContext& context_;
  Parser& parser_;
  bool chunked_;
  bool expects_continue_;
  std::optional<std::uint64_t> declared_;
  std::uint64_t remaining_ = 0;
  std::size_t held_ = 0;
  std::uint64_t read_ = 0;
};

}  // namespace tidemark::http
