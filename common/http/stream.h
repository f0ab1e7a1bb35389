// The bytes of one connection, plain or by TLS; the session does not know which. Without TLS each operation is the
// socket's own, after a check of one pointer. For one thread, and one operation at a time.
#pragma once
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string_view>
#include <tuple>

#include "common/base/async.h"
#include "common/http/outbox.h"

namespace tidemark::http {

class Certificate;

class Stream {
 public:
  /// The result of an operation, and the number of bytes that it moved.
  using Moved = std::tuple<boost::system::error_code, std::size_t>;

  explicit Stream(Socket socket);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  /// The socket, for matters that concern the connection and not its bytes.
  [[nodiscard]] Socket& socket() { return socket_; }
  [[nodiscard]] bool tls() const { return tls_ != nullptr; }

  /// Does the handshake, as the server.
  Task<boost::system::error_code> begin_tls(const Certificate& certificate);
  /// Tells the peer that nothing more will come, and does not wait for its reply.
  Task<void> end_tls();
  Task<Moved> read_some(asio::mutable_buffer buffer) {
    if (tls_) return read_by_tls(buffer);
    return socket_.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
  }
  /// Writes both completely.
  Task<Moved> write(std::string_view first, std::string_view second);

 private:
  struct Tls;  // Asio's TLS stream, which is large, compiled once
  Task<Moved> read_by_tls(asio::mutable_buffer buffer);

  Socket socket_;
  std::unique_ptr<Tls> tls_;
};

}  // namespace tidemark::http
