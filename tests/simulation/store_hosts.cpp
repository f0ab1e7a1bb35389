#include "tests/simulation/store_hosts.h"

#include "common/rpc/wire.h"
#include "queue_service/internal/queue_dispatch.h"
#include "table_store/client/table_calls.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/table_service.h"
#include "tests/support/seeded_random.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

constexpr Duration kUpkeepInterval = 60s;

/// Remembers what the body writes.
class WatchedTransaction final : public kv::Transaction {
 public:
  WatchedTransaction(kv::Transaction& inner, std::vector<RowChange>& changes) : inner_(inner), changes_(changes) {}
  Result<std::optional<std::string>> get(std::string_view key) const override { return inner_.get(key); }
  std::unique_ptr<kv::Cursor> scan(const kv::KeyRange& range, kv::Direction direction) const override {
    return inner_.scan(range, direction);
  }
  void put(std::string_view key, std::string_view value) override {
    changes_.push_back({std::string(key), std::string(value)});
    inner_.put(key, value);
  }
  void erase(std::string_view key) override {
    changes_.push_back({std::string(key), std::nullopt});
    inner_.erase(key);
  }

 private:
  kv::Transaction& inner_;
  std::vector<RowChange>& changes_;
};

/// The transactions of a call are submitted before the call first waits, so what was noted just before is their cause.
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
  expected = {};  // of a call that was refused before its transaction
  co_return result;
}

std::vector<std::unique_ptr<WatchedEngine>> engines_on(const std::vector<EngineParts>& parts, ExpectedCause& expected,
                                                       const QueueWatcher& watcher) {
  std::vector<std::unique_ptr<WatchedEngine>> engines;
  for (std::size_t shard = 0; shard < parts.size(); ++shard) {
    engines.push_back(std::make_unique<WatchedEngine>(
        parts[shard], expected,
        [committed = watcher.committed, shard](const std::vector<RowChange>& changes, const Cause& cause) {
          committed(shard, changes, cause);
        }));
  }
  return engines;
}

/// What is on its way between shards when the store starts.
Task<void> carry_on(queue_service::QueueService& service, Life& life) {
  const auto done = co_await service.carry_on();
  if (!done && !life.dead()) std::abort();  // the disk of a life never fails
}

/// The key of the placement is the same in each life, as it is in a store's stamp.
kv::Shards shards_of(const std::vector<std::unique_ptr<WatchedEngine>>& engines, const Clock& ages) {
  kv::Shards shards{.all = {}, .placement = {engines.size(), {}}};
  for (const auto& engine : engines) shards.all.push_back({*engine, ages});
  return shards;
}

}  // namespace

WatchedEngine::WatchedEngine(EngineParts parts, ExpectedCause& expected, CommitWatcher watcher)
    : durable_(kv::make_memory_engine(std::move(parts.disk))),
      scheduler_(parts.scheduler),
      life_(parts.life),
      durability_(parts.durability),
      watcher_(std::move(watcher)),
      expected_(expected) {
  const auto found = durable_->snapshot();
  kv::TransactionBody copy = [&](kv::Transaction& txn) -> Result<void> {
    for (auto cursor = found->scan({}, kv::Direction::kForward); cursor->valid(); cursor->next()) {
      txn.put(cursor->key(), cursor->value());
    }
    return {};
  };
  ahead_->submit(std::move(copy), [](const Result<void>&) {});
}

void WatchedEngine::erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) {
  if (life_.dead()) return done(fail(ErrorCode::kStorageFailure));
  ahead_->erase_ranges(ranges, [](const Result<void>&) {});
  durable_->erase_ranges(std::move(ranges), std::move(done));
}

void WatchedEngine::later(Duration most, void (WatchedEngine::*step)()) {
  scheduler_.after(scheduler_.dice().between(0ms, most),
                   [this, step, scheduler = &scheduler_, host = life_.host(), number = life_.number()] {
                     if (scheduler->find_life(host, number) != nullptr) (this->*step)();
                   });
}

void WatchedEngine::submit(kv::TransactionBody body, kv::Completion done) {
  if (life_.dead()) {
    done(fail(ErrorCode::kStorageFailure));
    return;
  }
  waiting_.push_back({std::move(body), std::move(done), expected_.take()});
  if (waiting_.size() == 1) later(1ms, &WatchedEngine::execute_waiting);
}

void WatchedEngine::execute_waiting() {
  Group group;
  for (auto& transaction : std::exchange(waiting_, {})) {
    Executed executed;
    kv::TransactionBody watched = [&](kv::Transaction& txn) -> Result<void> {
      executed.changes.clear();
      WatchedTransaction watching(txn, executed.changes);
      return transaction.body(watching);
    };
    ahead_->submit(std::move(watched), [&executed](Result<void> result) { executed.outcome = std::move(result); });
    executed.done = std::move(transaction.done);
    executed.cause = std::move(transaction.cause);
    if (durability_ == Durability::kAcknowledgedBefore) std::exchange(executed.done, {})(executed.outcome);
    group.push_back(std::move(executed));
  }
  unsynced_.push_back(std::move(group));
  later(durability_ == Durability::kSynced ? 1ms : 300ms, &WatchedEngine::sync_next);
}

void WatchedEngine::sync_next() {
  auto group = std::move(unsynced_.front());
  unsynced_.pop_front();
  for (auto& executed : group) {
    if (executed.outcome && !executed.changes.empty()) {
      write(executed.changes);
      watcher_(executed.changes, executed.cause);
    }
    if (executed.done) executed.done(std::move(executed.outcome));
  }
}

void WatchedEngine::write(const std::vector<RowChange>& changes) {
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    for (const auto& change : changes) {
      if (change.value) {
        txn.put(change.key, *change.value);
      } else {
        txn.erase(change.key);
      }
    }
    return {};
  };
  durable_->submit(std::move(body), [](const Result<void>&) {});
}

void WatchedEngine::abandon() {
  for (auto& transaction : std::exchange(waiting_, {})) transaction.done(fail(ErrorCode::kStorageFailure));
  for (auto& group : std::exchange(unsynced_, {})) {
    for (auto& executed : group) {
      if (executed.done) executed.done(fail(ErrorCode::kStorageFailure));
    }
  }
}

TableHost::TableHost(EngineParts parts, std::uint64_t seed, CommitWatcher watcher)
    : engine_(parts, expected_, std::move(watcher)),
      random_(make_seeded_random(seed)),
      service_(engine_, parts.life.clock(), *random_),
      dispatch_(table_store::make_table_dispatch(service_)) {}

Task<Result<std::string>> TableHost::answer(Request request) {
  return answer_with(expected_, dispatch_, std::move(request));
}

QueueHost::QueueHost(const std::vector<EngineParts>& parts, std::uint64_t seed, const QueueWatcher& watcher)
    : begun_(watcher.begun),
      engines_(engines_on(parts, expected_, watcher)),
      random_(make_seeded_random(seed)),
      service_(shards_of(engines_, parts.front().life.clock()), parts.front().life.clock(), *random_),
      dispatch_(queue_service::make_queue_dispatch(service_)) {
  auto& life = parts.front().life;
  spawn(life.executor(), carry_on(service_, life));
  spawn(life.executor(), service_.keep_up(kUpkeepInterval));
}

Task<Result<std::string>> QueueHost::answer(Request request) {
  begun_({request.method, request.payload, request.caller});
  return answer_with(expected_, dispatch_, std::move(request));
}

}  // namespace tidemark::simulation
