// Surrounds a store whose shards are divided among processes: it routes calls to the other processes, and makes this
// one's claims.
#pragma once
#include <optional>
#include <prometheus/metric_family.h>

#include "common/postgres/shard_owners.h"
#include "common/rpc/zmq_transport.h"
#include "common/service/store_settings.h"
#include "common/shards/shard_router.h"

namespace tidemark::service {

class Store;

class Sharing {
 public:
  /// All arguments must outlive it.
  Sharing(kv::ShardOwners& owners, Clock& clock, Executor executor, const StoreSettings& settings);

  [[nodiscard]] shards::ShardRouter& router() { return router_; }
  /// Call before anything is served.
  void serve(Store& store) { store_ = &store; }
  /// Answers by `own` the calls that belong here, and passes on the rest. Call after serve(). Must not outlive this.
  rpc::Dispatch around(rpc::Dispatch own);
  /// Claims shards, once others can reach this process: `server` listens for them, also on the socket `local`. Heeds
  /// changes that other processes make to account properties, until `stopping` is notified.
  Result<void> claim(const rpc::Server& server, const std::string& local, const std::shared_ptr<Signal>& stopping);
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;
  /// Hands its shards over while it still passes calls on.
  void leave() { owners_.leave(); }
  /// Ends the claims, when nothing runs any more.
  void stop() { owners_.stop(); }
  /// Call before the executors are destroyed.
  void close() { router_.close(); }

 private:
  /// Answers a call that concerns the records of requests, which the owner of the first shard keeps.
  Task<Result<std::string>> answer_by_first(rpc::Dispatch own, std::string method, std::string payload);
  Task<void> heed_properties(std::shared_ptr<Signal> stopping);

  kv::ShardOwners& owners_;
  Clock& clock_;
  const Executor executor_;
  const StoreSettings& settings_;
  shards::ShardRouter router_;
  Store* store_ = nullptr;
};

}  // namespace tidemark::service
