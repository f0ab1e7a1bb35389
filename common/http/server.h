// The HTTP server. Every I/O thread has its own io_context and SO_REUSEPORT acceptor. Connections are kept alive, and
// everything is bounded.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "common/base/random.h"
#include "common/http/certificate.h"
#include "common/http/http.h"

namespace tidemark::http {

struct ServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;       // 0 for any free port, see port()
  std::optional<int> listener;  // from keep_listening(): used instead of a new one at `port`
  unsigned threads = 2;
  std::size_t max_header_bytes = 64UL << 10;              // the request line included
  std::size_t max_connections = 4096;                     // beyond these, the longest idle one is closed; else 503
  std::size_t max_connections_of_address = 2048;          // more are answered with 503 and closed
  std::size_t max_body_memory = 512UL << 20;              // of all bodies that are read whole; 503 beyond
  std::shared_ptr<const Certificate> certificate = {};    // null: plain HTTP
  Duration handshake_timeout = std::chrono::seconds(10);  // of TLS, from the start of the connection
  Duration header_timeout = std::chrono::seconds(30);     // from the first byte to the last
  Duration idle_timeout = std::chrono::seconds(120);
  Duration transfer_grace = std::chrono::seconds(60);  // how long a peer may be slower than the rate (patience.h)
  std::uint64_t slowest_bytes_per_s = 4096;
  Duration sweep_interval = std::chrono::seconds(1);  // between checks for connections that took too long
  std::string server_name = {};                       // in the header Server; empty: "Tidemark/VERSION"
};

/// Renders an error that occurs outside the handler: malformed HTTP, headers too large, an exception of the handler.
using ErrorRenderer = std::function<Response(const Error&, const std::string& request_id)>;

/// A server that is bound; it accepts connections once it is started.
class Server {
 public:
  virtual ~Server() = default;
  [[nodiscard]] virtual std::uint16_t port() const = 0;
  /// For the ready line: "port=10002", with " scheme=https" if the server speaks HTTPS.
  [[nodiscard]] virtual std::string where() const = 0;
  /// Returns the executor of one I/O thread in turn, for background coroutines and RPC. The executors run before
  /// start() too.
  [[nodiscard]] virtual Executor executor() = 0;
  virtual void start(Handler handler, ErrorRenderer render_error) = 0;
  /// Returns another descriptor of the listening socket. After this server has stopped, new connections wait there for
  /// the server that takes its place.
  [[nodiscard]] virtual int keep_listening() const = 0;
  /// Stops accepting, gives requests in progress `grace` to finish, then closes all connections and ends the I/O
  /// threads. Idempotent.
  virtual void stop(Duration grace) = 0;

  /// Connections that were closed at their beginning, because there were too many in all or from one address (plain
  /// HTTP answers with 503), or because the client did not speak TLS.
  struct Refused {
    std::uint64_t in_all = 0;
    std::uint64_t of_address = 0;
    std::uint64_t handshakes = 0;
  };
  [[nodiscard]] virtual Refused refused() const = 0;
};

/// Parses an IP address; kConfigInvalid if it is not one.
Result<bool> is_loopback(const std::string& host);

/// kConfigInvalid if the address or port is not available; the message names it and the remedy.
Result<std::unique_ptr<Server>> bind_server(const ServerOptions& options, Random& random);

}  // namespace tidemark::http
