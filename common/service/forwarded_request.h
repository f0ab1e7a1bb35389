// A request of a client as one process passes it on to the one that serves it, and its answer. It is passed on as it
// came, with its credentials, and checked again there: processes need not believe each other. Bodies are whole.
#pragma once
#include <functional>
#include <optional>

#include "common/http/http.h"
#include "common/service/shard_router.h"

namespace tidemark::service {

/// Passes requests on. Thread safe; the router must outlive it.
class RequestForwarder {
 public:
  /// `serve` answers a request that belongs here. `most_bytes`: of a body.
  using Serve = std::function<Task<http::Response>(http::Request&)>;
  RequestForwarder(ShardRouter& router, std::size_t most_bytes, Serve serve)
      : router_(router), most_bytes_(most_bytes), serve_(std::move(serve)) {}

  /// The answer of the process that serves the shard; nothing: this one does, and the request is as it was.
  /// kServerBusy; errors of the body.
  Task<Result<std::optional<http::Response>>> forward(std::size_t shard, const http::Request& request);
  /// Answers what another process has passed on. Must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);
  /// If it is such a request: where it belongs.
  static std::optional<CallPlace> place_of(std::string_view method, std::string_view payload);

 private:
  Task<Result<std::string>> answer(std::string payload);

  ShardRouter& router_;
  const std::size_t most_bytes_;
  const Serve serve_;
};

}  // namespace tidemark::service
