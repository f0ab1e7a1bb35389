// One connection: reads a request, calls the handler, writes the response, and starts over. It runs on one I/O thread.
// A sweeper on the same thread closes the socket when the deadline of the current step has passed.
#pragma once
#include <boost/beast/core/flat_buffer.hpp>
#include <chrono>
#include <memory_resource>

#include "common/base/random.h"
#include "common/http/connection_slots.h"
#include "common/http/outbox.h"
#include "common/http/patience.h"
#include "common/http/server.h"
#include "common/http/stream.h"

namespace tidemark::http {

struct ServerContext {
  ServerContext(const ServerOptions& options_, Random& random_)
      : options(options_), random(random_), connections(options.max_connections, options.max_connections_of_address) {}

  const ServerOptions options;
  Random& random;
  Handler handler;
  ErrorRenderer render_error;
  std::atomic<bool> stopping{false};
  ConnectionSlots connections;
  std::atomic<std::uint64_t> refused_in_all{0};
  std::atomic<std::uint64_t> refused_of_address{0};
  std::atomic<std::uint64_t> refused_handshakes{0};
  std::atomic<std::size_t> body_memory{0};  // in bodies that are read whole, until they are answered
};

class Session {
 public:
  Session(Socket socket, ServerContext& context, Outbox& outbox)
      : stream_(std::move(socket)),
        context_(context),
        outbox_(outbox),
        patience_(context.options.transfer_grace, context.options.slowest_bytes_per_s) {}
  /// Serves until the peer closes, an error occurs, a deadline passes, or the server stops.
  Task<void> run();
  [[nodiscard]] bool expired(SteadyTime now) const { return now >= deadline_; }
  /// True between requests, when nothing is lost by closing.
  [[nodiscard]] bool idle() const { return idle_; }
  [[nodiscard]] SteadyTime deadline() const { return deadline_; }
  void close();

 private:
  friend class SessionBody;
  static constexpr std::size_t kReadBytes = 8192;

  /// Does the TLS handshake; false if it fails. A client that speaks plain HTTP gets an answer that says so.
  Task<bool> secure();
  /// The request's head is kept in `head_memory`, which the next request reuses.
  Task<bool> serve_one(std::pmr::monotonic_buffer_resource& head_memory);
  /// Answers malformed or oversized requests; always returns false.
  Task<bool> refuse(Error error);
  Task<bool> stream_body(BodySource& source, std::optional<std::uint64_t> length);
  Task<bool> write(std::string_view first, std::string_view second);
  /// Appends bytes from the peer to input_; false at the end of the stream or on an error.
  Task<bool> receive_more();
  Task<void> rest(Duration pause);
  /// Ends a connection whose peer still sends. Closes the sending half at once, so that the peer gets its answer, and
  /// the rest when the peer has noticed, or soon after.
  Task<void> hang_up();
  /// wait_for_peer() and peer_moved() enclose each wait for the peer during a request.
  void wait_for_peer(std::uint64_t bytes = 0) { deadline_ = patience_.begin(std::chrono::steady_clock::now(), bytes); }
  void peer_moved(std::uint64_t bytes) {
    patience_.end(std::chrono::steady_clock::now(), bytes);
    deadline_ = SteadyTime::max();
  }
  /// The peer is gone if its stream reads as empty. Anything else, such as its next request, shows that it is there.
  /// With TLS, a record announces the end of the stream, so the closed TLS side counts as gone.
  bool peer_gone();
  void set_deadline(Duration from_now) {
    deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(from_now);
  }

  Stream stream_;
  ServerContext& context_;
  Outbox& outbox_;
  boost::beast::flat_buffer input_;  // bytes that have arrived and are not read yet
  SteadyTime deadline_ = SteadyTime::max();
  Patience patience_;
  bool idle_ = true;
  Request request_;  // the current one
};

/// The status line and the headers, up to and including the empty line.
std::string render_head(const Request* request, const Response& response, bool keep_alive,
                        const std::string& server_name);

}  // namespace tidemark::http
