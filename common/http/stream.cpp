#include "common/http/stream.h"

#include <array>

#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>

#include "common/http/certificate.h"

namespace tidemark::http {

struct Stream::Tls {
  asio::ssl::stream<Socket&> stream;
};

Stream::Stream(Socket socket) : socket_(std::move(socket)) {}
Stream::~Stream() = default;

Task<boost::system::error_code> Stream::begin_tls(const Certificate& certificate) {
  tls_ = std::make_unique<Tls>(asio::ssl::stream<Socket&>(socket_, *certificate.context()));
  const auto [error] =
      co_await tls_->stream.async_handshake(asio::ssl::stream_base::server, asio::as_tuple(asio::use_awaitable));
  co_return error;
}

Task<void> Stream::end_tls() {
  auto* const ssl = tls_->stream.native_handle();
  ::SSL_set_shutdown(ssl, ::SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
  co_await tls_->stream.async_shutdown(asio::as_tuple(asio::use_awaitable));
}

Task<Stream::Moved> Stream::read_by_tls(asio::mutable_buffer buffer) {
  return tls_->stream.async_read_some(buffer, asio::as_tuple(asio::use_awaitable));
}

Task<Stream::Moved> Stream::write(std::string_view first, std::string_view second) {
  const std::array<asio::const_buffer, 2> buffers{asio::buffer(first.data(), first.size()),
                                                  asio::buffer(second.data(), second.size())};
  if (tls_) return asio::async_write(tls_->stream, buffers, asio::as_tuple(asio::use_awaitable));
  return asio::async_write(socket_, buffers, asio::as_tuple(asio::use_awaitable));
}

}  // namespace tidemark::http
