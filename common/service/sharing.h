// What stands around a store if other processes have some of its shards: the way to them, both for its calls and for
// requests of clients, and the claims of this one.
#pragma once
#include <optional>
#include <prometheus/metric_family.h>

#include "common/kv/shard_owners.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/forwarded_request.h"
#include "common/service/routed_calls.h"
#include "common/service/shard_router.h"
#include "common/service/store_settings.h"

namespace tidemark::service {

class Store;

class Sharing {
 public:
  /// All must outlive it.
  Sharing(kv::ShardOwners& owners, Clock& clock, Executor executor, const StoreSettings& settings);

  [[nodiscard]] ShardRouter& router() { return router_; }
  [[nodiscard]] kv::OwnerCalls& calls() { return calls_; }
  /// Before anything is served: requests to its front are passed on where they belong.
  void serve(Store& store);
  /// Answers what belongs here by `own`, and passes on the rest. After serve(). Must not outlive this.
  rpc::Dispatch around(rpc::Dispatch own);
  /// Once others can reach this process: `server` listens for them, also on the socket `local`. Claims shards, and
  /// heeds what other processes are told about accounts until `stopping` is notified.
  Result<void> claim(const rpc::Server& server, const std::string& local, const std::shared_ptr<Signal>& stopping);
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;
  /// Hands its shards over while it still passes on what comes.
  void leave() { owners_.leave(); }
  /// Nothing that other processes pass on arrives any more: ends what is under way of it.
  void end_forwarded() { forwarder_->end(); }
  /// When nothing runs any more: ends the claims.
  void stop() { owners_.stop(); }
  /// Before the executors go.
  void close() { router_.close(); }

 private:
  Task<void> heed_properties(std::shared_ptr<Signal> stopping);

  kv::ShardOwners& owners_;
  Clock& clock_;
  const Executor executor_;
  const StoreSettings& settings_;
  ShardRouter router_;
  RoutedCalls calls_{router_};
  Store* store_ = nullptr;
  std::optional<RequestForwarder> forwarder_;
};

}  // namespace tidemark::service
