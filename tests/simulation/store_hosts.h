// The stores as processes of the simulation: the real service and dispatch over the engines of watched_engine.h.
#pragma once
#include "blob_store/storage/blob_service.h"
#include "common/shards/shard_router.h"
#include "queue_service/storage/queue_service.h"
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
  std::function<void(const Cause& cause)> begun;  // called for each call, before it has any effect
  std::function<void(std::size_t shard, const Committed&)> committed;
};

/// The queue service in one process, divided over as many shards as there are engines.
class QueueHost final : public Callee {
 public:
  /// `job_parts`: the number of parts over which the queue of jobs is spread.
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

/// One of several processes that share the shards of a store.
class SharedHost : public Callee {
 public:
  Task<Result<std::string>> answer(Request request) override {
    return dispatch_(std::move(request.method), std::move(request.payload));
  }
  void unwind() override {
    for (auto& engine : engines_) engine->abandon();
  }

 protected:
  SharedHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed);
  /// Gives the service each shard as long as this process owns it. `own` answers the calls.
  template <class Service>
  void share(Service& service, rpc::Dispatch own);

  Life& life_;
  ExpectedCause expected_;  // set by the queue service alone: commits of the other stores show their operation
  std::vector<std::unique_ptr<OwnedEngine>> engines_;
  std::unique_ptr<Random> random_;
  SharedOwners owners_;
  shards::ShardRouter router_;

 private:
  rpc::Dispatch dispatch_;
};

class SharedTableHost final : public SharedHost {
 public:
  SharedTableHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed);
  void unwind() override {
    SharedHost::unwind();
    service_.begin_shutdown();
  }

 private:
  table_store::TableService service_;
};

/// The other processes, as a watched service sees them: a call that is passed on causes no transaction here, unless its
/// shard has come here meanwhile.
class WatchedPeers final : public shards::Peers {
 public:
  WatchedPeers(shards::Peers& peers, ExpectedCause& expected) : peers_(peers), expected_(expected) {}
  [[nodiscard]] bool here(std::size_t shard) const override { return peers_.here(shard); }
  [[nodiscard]] bool leased(std::size_t shard) const override { return peers_.leased(shard); }
  [[nodiscard]] const std::string& process() const override { return peers_.process(); }
  [[nodiscard]] bool lives(const std::string& process) const override { return peers_.lives(process); }
  Task<Result<std::optional<std::string>>> forward(shards::CallPlace place, std::string method,
                                                   std::string payload) override {
    const auto passed_on = expected_.cause.method == method ? std::exchange(expected_, {}) : ExpectedCause{};
    auto reply = co_await peers_.forward(place, std::move(method), std::move(payload));
    if (reply && !*reply) expected_ = passed_on;
    co_return reply;
  }
  Task<void> tell_others(std::string method, std::string payload) override {
    return peers_.tell_others(std::move(method), std::move(payload));
  }

 private:
  shards::Peers& peers_;
  ExpectedCause& expected_;
};

class SharedQueueHost final : public SharedHost {
 public:
  SharedQueueHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed,
                  std::function<void(const Cause& cause)> begun, std::uint32_t job_parts);
  void unwind() override {
    SharedHost::unwind();
    service_.begin_shutdown();
  }

 private:
  WatchedPeers peers_{router_, expected_};
  queue_service::QueueService service_;
};

/// The blob service in one of several processes. Contents are small enough to be rows, so there are no files.
class SharedBlobHost final : public SharedHost {
 public:
  SharedBlobHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed);
  void unwind() override {
    owners_.leave();
    SharedHost::unwind();
    service_.begin_shutdown();
  }

 private:
  blob_store::PayloadFiles files_;
  blob_store::BlobService service_;
};

}  // namespace tidemark::simulation
