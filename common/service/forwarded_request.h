// Passes a client's request on to the process that serves it, and brings back the answer. The request goes as it came,
// with its credentials, and is checked again there: processes need not trust each other. A short body goes with the
// request; a longer one, or the body of an answer, goes piece by piece. A request is passed on once at most, even if
// that fails.
#pragma once
#include <atomic>
#include <functional>
#include <optional>

#include "common/http/http.h"
#include "common/service/forwarded_bodies.h"
#include "common/shards/shard_router.h"

namespace tidemark::service {

/// Passes requests on. Thread safe; the router must outlive it.
class RequestForwarder {
 public:
  /// `serve` answers a request that belongs here. Bodies of up to `most_bytes` go with their request.
  RequestForwarder(shards::ShardRouter& router, Clock& clock, const Executor& executor, std::size_t most_bytes,
                   ForwardedBodies::Serve serve)
      : router_(router),
        executor_(executor),
        most_bytes_(most_bytes),
        bodies_(clock, executor, serve, [&router](const auto& process) { return router.lives(process); }),
        serve_(serve) {}

  /// Returns the answer of the process that serves the shard; nothing if this process serves it, and then the request
  /// is unchanged. kServerBusy; errors of the body.
  Task<Result<std::optional<http::Response>>> forward(std::size_t shard, const http::Request& request);
  /// Answers the requests that other processes have passed on. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);
  /// Ends the bodies that other processes have passed on in pieces, and sends them no more messages: the executors are
  /// about to be destroyed.
  void end() {
    ended_ = true;
    bodies_.end();
  }

 private:
  class RestOfBody;
  using Answered = Task<Result<std::optional<http::Response>>>;
  Answered forward_whole(std::size_t shard, const http::Request& request);
  Answered forward_in_pieces(std::size_t shard, const http::Request& request);
  Task<Result<forwarded::Response>> send_body(std::size_t shard, std::string address, forwarded::Progress begun,
                                              http::BodyReader& body);
  Task<Result<forwarded::Progress>> send_piece(std::size_t shard, const std::string& address, forwarded::Piece piece);
  http::Response response_of(forwarded::Response from, const std::string& address);
  void drop(const std::string& address, const std::string& name);

  Task<Result<std::string>> answer(std::string method, std::string payload);
  Task<Result<std::string>> answer_whole(std::string payload);
  Task<http::Response> serve_read(forwarded::Request from);

  shards::ShardRouter& router_;
  const Executor executor_;
  const std::size_t most_bytes_;
  ForwardedBodies bodies_;
  const ForwardedBodies::Serve serve_;
  std::atomic<bool> ended_ = false;
};

}  // namespace tidemark::service
