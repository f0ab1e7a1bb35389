// A bare Beast server, for comparison, which answers every request with so many bytes and does nothing else. It has one
// io_context and one acceptor per core, as the stores have. Usage: bare_server PORT THREADS BYTES
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <cstdlib>

#include "common/base/async.h"

namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using ReusePort = asio::detail::socket_option::boolean<SOL_SOCKET, SO_REUSEPORT>;

asio::awaitable<void> serve(tcp::socket socket, std::size_t bytes) {
  boost::beast::flat_buffer buffer;
  buffer.reserve(64 << 10);  // otherwise it grows by steps of half a kilobyte
  http::response<http::string_body> response(http::status::ok, 11);
  response.body() = std::string(bytes, 'x');
  response.keep_alive(true);
  response.prepare_payload();
  for (;;) {
    http::request<http::string_body> request;
    auto [read_error, read] = co_await http::async_read(socket, buffer, request, asio::as_tuple(asio::use_awaitable));
    if (read_error) co_return;
    auto [write_error, written] = co_await http::async_write(socket, response, asio::as_tuple(asio::use_awaitable));
    if (write_error) co_return;
  }
}

asio::awaitable<void> accept(std::uint16_t port, std::size_t bytes) {
  auto executor = co_await asio::this_coro::executor;
  tcp::acceptor acceptor(executor);
  acceptor.open(tcp::v4());
  acceptor.set_option(asio::socket_base::reuse_address(true));
  acceptor.set_option(ReusePort(true));
  acceptor.bind({asio::ip::address_v4::loopback(), port});
  acceptor.listen();
  for (;;) {
    auto socket = co_await acceptor.async_accept(asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    asio::co_spawn(executor, serve(std::move(socket), bytes), asio::detached);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: bare_server PORT THREADS BYTES\n");
    return 2;
  }
  const auto port = static_cast<std::uint16_t>(std::atoi(argv[1]));
  const auto bytes = static_cast<std::size_t>(std::atol(argv[3]));
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[2]); ++i) {
    threads.emplace_back([port, bytes] {
      asio::io_context io(1);
      tidemark::spawn(io.get_executor(), accept(port, bytes));
      io.run();
    });
  }
  std::printf("ready bare_server port=%d\n", port);
  std::fflush(stdout);
  for (auto& thread : threads) thread.join();
}
