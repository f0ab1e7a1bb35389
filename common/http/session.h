// One connection: reads a request, calls the handler, writes the response, again. Runs on one I/O thread; a sweeper on
// the same thread closes the socket when the deadline set for the present step has passed.
#pragma once
#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <memory_resource>

#include "common/base/random.h"
#include "common/http/input_buffer.h"
#include "common/http/outbox.h"
#include "common/http/server.h"

namespace tidemark::http {

struct ServerContext {
  ServerOptions options;
  Handler handler;
  ErrorRenderer render_error;
  Random* random = nullptr;
  std::atomic<bool> stopping{false};
  std::atomic<std::size_t> connections{0};
};

class Session {
 public:
  Session(Socket socket, ServerContext& context, Outbox& outbox)
      : socket_(std::move(socket)), context_(context), outbox_(outbox) {}
  /// Serves until the peer closes, an error, a deadline, or the server stops.
  Task<void> run();
  [[nodiscard]] bool expired(SteadyTime now) const { return now >= deadline_; }
  /// True between requests: nothing is lost by closing now.
  [[nodiscard]] bool idle() const { return idle_; }
  void close();

 private:
  friend class SessionBody;
  /// The request's head is in `head_memory`, which the next one takes over.
  Task<bool> serve_one(std::pmr::monotonic_buffer_resource& head_memory);
  /// Answers what is not HTTP, or too much of it; always false.
  Task<bool> refuse(boost::system::error_code malformed);
  Task<bool> stream_body(BodySource& source, std::optional<std::uint64_t> length);
  Task<bool> write(std::string_view first, std::string_view second);
  /// Adds what the peer sent to input_; false at the end of the stream or on error.
  Task<bool> receive_more();
  /// A closed stream reads as empty; anything else, a next request for one, is a peer that is there.
  bool peer_gone();
  void set_deadline(Duration from_now) {
    deadline_ = std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::nanoseconds>(from_now);
  }

  Socket socket_;
  ServerContext& context_;
  Outbox& outbox_;
  InputBuffer input_;
  SteadyTime deadline_ = SteadyTime::max();
  bool idle_ = true;
  Request request_;  // the present one
};

/// Status line and headers, up to and including the empty line.
std::string render_head(const Request* request, const Response& response, bool keep_alive,
                        const std::string& server_name);
std::string_view reason_phrase(unsigned status);

}  // namespace tidemark::http
