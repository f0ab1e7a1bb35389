#include "tests/simulation/store_hosts.h"

#include "blob_store/internal/blob_dispatch.h"
#include "common/rpc/wire.h"
#include "jobs/store/job_record.h"
#include "queue_service/internal/queue_dispatch.h"
#include "table_store/client/table_calls.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/table_service.h"
#include "tests/simulation/table_oracle.h"
#include "tests/support/seeded_random.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration kUpkeepInterval = 60s;

/// The transactions of a call are submitted before the call first waits, so their cause is the call that was noted
/// last.
Task<Result<std::string>> answer_with(ExpectedCause& expected, const rpc::Dispatch& dispatch, Request request) {
  std::size_t transactions = 1;
  if (request.method == table_store::calls::MoveAll::kMethod) {
    if (auto call = wire::decode<table_store::calls::MoveAll>(request.payload)) transactions = call->moves.size();
  } else if (request.method == table_store::calls::MutateAll::kMethod) {
    if (auto call = wire::decode<table_store::calls::MutateAll>(request.payload))
      transactions = call->partitions.size();
  }
  expected = {{request.method, request.payload, request.caller}, transactions};
  auto result = co_await dispatch(std::move(request.method), std::move(request.payload));
  expected = {};  // a call that was refused before its transactions leaves its cause
  co_return result;
}

std::vector<std::unique_ptr<WatchedEngine>> engines_on(const std::vector<EngineParts>& parts, ExpectedCause& expected,
                                                       const QueueWatcher& watcher) {
  std::vector<std::unique_ptr<WatchedEngine>> engines;
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    engines.push_back(std::make_unique<WatchedEngine>(
        parts[shard], expected,
        [watch = watcher.committed, shard](const Committed& committed) { watch(shard, committed); }));
  }
  return engines;
}

std::vector<std::unique_ptr<OwnedEngine>> engines_on(OwnedEngine::Parts parts, ExpectedCause& expected) {
  std::vector<std::unique_ptr<OwnedEngine>> engines;
  for (std::size_t shard = 0; shard < parts.database.shards(); ++shard) {
    engines.push_back(std::make_unique<OwnedEngine>(parts, shard, expected));
  }
  return engines;
}

/// Carries on the messages that are between two shards when the store starts.
Task<void> carry_on(queue_service::QueueService& service, Life& life) {
  const auto done = co_await service.carry_on();
  if (!done && !life.dead()) std::abort();  // the disk of a life never fails
}

/// Asks for the queue of jobs to be spread. It may be too late for that, or this process may not have the queue.
Task<void> spread_jobs(queue_service::QueueService& service, Life& life, std::uint32_t parts) {
  if (parts == 1) co_return;
  const std::string queue(jobs::kJobQueue);
  const queue_service::Metadata metadata{{std::string(queue_service::kPartsName), std::to_string(parts)}};
  for (int attempt = 0; attempt < 100 && !life.dead(); ++attempt) {
    const auto made = co_await service.create_queue(kAccount, queue, metadata);
    if (made.failed_with(ErrorCode::kQueueAlreadyExists)) {
      const auto spread = co_await service.patch_metadata(kAccount, queue, metadata);
      if (spread || spread.failed_with(ErrorCode::kInvalidMetadata)) co_return;
    }
    if (made) co_return;
    auto nap = sleep_for(life.clock(), 50ms);
    co_await std::move(nap);
  }
}

template <class Service>
Task<void> go_on_with(Service& service, std::size_t shard) {
  static_cast<void>((co_await service.gained(shard)).has_value());
}

/// Tells the service of a shard that it has gained. The shard may go to another process meanwhile, which does the same.
template <class Service>
void gained(Service& service, std::size_t shard, Life& life) {
  spawn(life.executor(), go_on_with(service, shard));
}
void gained(blob_store::BlobService& service, std::size_t shard, Life&) { service.gained(shard); }

shards::ShardRouter::OpenLink links_of(Network& network, Life& life) {
  return [&network, &life](const std::string& address) {
    return std::make_unique<SimTransport>(network, life, std::stoi(address), false);
  };
}

/// Returns the shards of a service. The key of the placement is the same in each life, like the one in a store's stamp.
template <class Engine>
shards::Shards shards_of(const std::vector<std::unique_ptr<Engine>>& engines, const Clock& ages,
                         shards::Peers* peers = nullptr) {
  shards::Shards shards{.all = {}, .placement = {engines.size(), {}}, .peers = peers};
  for (const auto& engine : engines) shards.all.push_back({*engine, ages});
  return shards;
}

}  // namespace

TableHost::TableHost(EngineParts parts, std::uint64_t seed, CommitWatcher watcher)
    : engine_(parts, expected_, std::move(watcher)),
      random_(make_seeded_random(seed)),
      service_(engine_, parts.life.clock(), *random_),
      dispatch_(table_store::make_table_dispatch(service_)) {}

Task<Result<std::string>> TableHost::answer(Request request) {
  return answer_with(expected_, dispatch_, std::move(request));
}

QueueHost::QueueHost(const std::vector<EngineParts>& parts, std::uint64_t seed, const QueueWatcher& watcher,
                     std::uint32_t job_parts)
    : begun_(watcher.begun),
      engines_(engines_on(parts, expected_, watcher)),
      random_(make_seeded_random(seed)),
      service_(shards_of(engines_, parts.front().life.clock()), parts.front().life.clock(), *random_),
      dispatch_(queue_service::make_queue_dispatch(service_)) {
  auto& life = parts.front().life;
  spawn(life.executor(), carry_on(service_, life));
  spawn(life.executor(), spread_jobs(service_, life, job_parts));
  spawn(life.executor(), service_.keep_up(kUpkeepInterval));
}

Task<Result<std::string>> QueueHost::answer(Request request) {
  begun_({request.method, request.payload, request.caller});
  return answer_with(expected_, dispatch_, std::move(request));
}

SharedHost::SharedHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed)
    : life_(parts.life),
      engines_(engines_on(parts, expected_)),
      random_(make_seeded_random(seed)),
      owners_(parts, engines_, std::to_string(parts.life.host())),
      router_(owners_, parts.life.clock(), parts.life.executor(), links_of(network, parts.life)) {}

template <class Service>
void SharedHost::share(Service& service, rpc::Dispatch own) {
  dispatch_ = router_.around(std::move(own));
  owners_.start({.gained = [this, &service](std::size_t shard) { gained(service, shard, life_); },
                 .lost = [&service](std::size_t shard) { service.lost(shard); },
                 .seen = [this] { router_.seen(); },
                 .moved = [this] { router_.moved(); }});
}

SharedTableHost::SharedTableHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed)
    : SharedHost(network, parts, seed),
      service_(shards_of(engines_, life_.clock(), &router_), life_.clock(), *random_) {
  share(service_, table_store::make_table_dispatch(service_));
}

SharedQueueHost::SharedQueueHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed,
                                 std::function<void(const Cause& cause)> begun, std::uint32_t job_parts)
    : SharedHost(network, parts, seed), service_(shards_of(engines_, life_.clock(), &peers_), life_.clock(), *random_) {
  auto own = [this, begun = std::move(begun), dispatch = queue_service::make_queue_dispatch(service_)](
                 std::string method, std::string payload) {
    begun({method, payload, -1});
    return answer_with(expected_, dispatch, {std::move(method), std::move(payload), -1});
  };
  share(service_, std::move(own));
  spawn(life_.executor(), service_.keep_up(kUpkeepInterval));
  spawn(life_.executor(), spread_jobs(service_, life_, job_parts));
}

SharedBlobHost::SharedBlobHost(Network& network, OwnedEngine::Parts parts, std::uint64_t seed)
    : SharedHost(network, parts, seed),
      files_("/nonexistent", life_.executor(), false),
      service_(shards_of(engines_, life_.clock(), &router_), life_.clock(), *random_, files_, life_.executor()) {
  service_.start_sharing("payloads");
  share(service_, blob_store::make_blob_dispatch(service_));
}

}  // namespace tidemark::simulation
