// The HTTP server: one io_context and one SO_REUSEPORT acceptor per I/O thread, keep-alive, everything bounded.
#pragma once
#include <memory>
#include <string>

#include "common/base/random.h"
#include "common/http/http.h"

namespace tidemark::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;  // 0: any free port, see port()
  unsigned threads = 2;
  std::size_t max_header_bytes = 32UL << 10;
  std::size_t max_connections = 4096;  // beyond it new ones get 503 and are closed
  Duration header_timeout = std::chrono::seconds(30);
  Duration idle_timeout = std::chrono::seconds(120);
  Duration body_timeout = std::chrono::seconds(60);  // for each piece read or written
  std::string server_name = "Tidemark/1.0";
};

/// Renders an error that arises before or outside the handler (bad HTTP, headers too large, handler threw).
using ErrorRenderer = std::function<Response(const Error&, const std::string& request_id)>;

class Server {
 public:
  virtual ~Server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// An executor of one of the I/O threads, round robin: for background coroutines and RPC.
  [[nodiscard]] virtual Executor executor() = 0;
  /// Stops accepting, lets requests in progress finish for at most `grace`, then closes. Idempotent.
  virtual void stop(Duration grace) = 0;
};

/// Binds (kConfigInvalid if the address or port cannot be had; the message says which and what to do) but does not
/// accept yet: call start() with the handler.
class ServerBuilder {
 public:
  virtual ~ServerBuilder() = default;
  /// Runs the I/O threads (so that executor() works) before the handler is set; connections are accepted from here.
  virtual std::unique_ptr<Server> start(Handler handler, ErrorRenderer render_error) = 0;
  [[nodiscard]] virtual Executor executor() = 0;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// Instead of start(): ends the I/O threads, so that nothing runs on the executors any more.
  virtual void stop() = 0;
};

/// Of an IP address; kConfigInvalid for what is none.
Result<bool> is_loopback(const std::string& host);

Result<std::unique_ptr<ServerBuilder>> bind_server(const ServerOptions& options, Random& random);

}  // namespace tidemark::http
