// The two stores as processes of the simulation: the real service and dispatch over the engines of watched_engine.h.
#pragma once
#include "common/service/routed_calls.h"
#include "common/service/shard_router.h"
#include "queue_service/internal/queue_owners.h"
#include "queue_service/storage/queue_service.h"
#include "table_store/internal/table_owners.h"
#include "table_store/storage/table_service.h"
#include "tests/simulation/shared_owners.h"
#include "tests/simulation/watched_engine.h"

namespace tidemark::simulation {

class TableHost final : public Callee {
 public:
  TableHost(EngineParts parts, std::uint64_t seed, CommitWatcher watcher);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override {
    engine_.abandon();
    service_.begin_shutdown();
  }

 private:
  ExpectedCause expected_;
  WatchedEngine engine_;
  std::unique_ptr<Random> random_;
  table_store::TableService service_;
  rpc::Dispatch dispatch_;
};

struct QueueWatcher {
  std::function<void(const Cause& cause)> begun;  // a call, before what it does
  std::function<void(std::size_t shard, const Committed&)> committed;
};

/// Divided over as many shards as there are engines.
class QueueHost final : public Callee {
 public:
  /// `job_parts`: over so many the queue of jobs is spread.
  QueueHost(const std::vector<EngineParts>& parts, std::uint64_t seed, const QueueWatcher& watcher,
            std::uint32_t job_parts);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override {
    for (auto& engine : engines_) engine->abandon();
    service_.begin_shutdown();
  }

 private:
  ExpectedCause expected_;
  std::function<void(const Cause& cause)> begun_;
  std::vector<std::unique_ptr<WatchedEngine>> engines_;
  std::unique_ptr<Random> random_;
  queue_service::QueueService service_;
  rpc::Dispatch dispatch_;
};

/// One of several processes that share the shards of the tables.
class SharedTableHost final : public Callee {
 public:
  SharedTableHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override {
    for (auto& engine : engines_) engine->abandon();
    service_.begin_shutdown();
  }

 private:
  ExpectedCause expected_;  // none: what is committed shows what it is for
  std::vector<std::unique_ptr<OwnedEngine>> engines_;
  std::unique_ptr<Random> random_;
  SharedOwners owners_;
  service::ShardRouter router_;
  service::RoutedCalls calls_{router_};
  table_store::TableService service_;
  table_store::TableOwners others_;
  rpc::Dispatch dispatch_;
};

/// One of several processes that share the shards of the queues.
class SharedQueueHost final : public Callee {
 public:
  SharedQueueHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed,
                  std::function<void(const Cause& cause)> begun, std::uint32_t job_parts);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override {
    for (auto& engine : engines_) engine->abandon();
    service_.begin_shutdown();
  }

 private:
  ExpectedCause expected_;
  std::vector<std::unique_ptr<OwnedEngine>> engines_;
  std::unique_ptr<Random> random_;
  SharedOwners owners_;
  service::ShardRouter router_;
  queue_service::QueueService service_;
  queue_service::QueueOwners others_{router_,
                                     [this](auto account, auto queue) { return service_.shard_of(account, queue); }};
  rpc::Dispatch dispatch_;
};

}  // namespace tidemark::simulation
