// The two stores as processes of the simulation: the real service and dispatch over an engine that shows every commit
// to a watcher, takes a little time for it, and dies with its life.
#pragma once
#include <deque>

#include "queue_service/storage/queue_service.h"
#include "table_store/storage/table_service.h"
#include "tests/simulation/network.h"
#include "tests/support/memory_engine.h"

namespace tidemark::simulation {

struct RowChange {
  std::string key;
  std::optional<std::string> value;  // nothing: erased
};

/// The call that a transaction was made for; empty for those made later by themselves.
struct Cause {
  std::string method;
  std::string payload;
  int caller = -1;
};

/// The call that is being started, which makes so many transactions before it first waits.
struct ExpectedCause {
  Cause cause;
  std::size_t transactions = 0;

  Cause take() { return transactions == 0 ? Cause{} : (--transactions, cause); }
};

using CommitWatcher = std::function<void(const std::vector<RowChange>& changes, const Cause& cause)>;

enum class Durability : std::uint8_t {
  kSynced = 1,              // acknowledged once it is on the disk
  kAcknowledgedBefore = 2,  // a broken engine: a crash loses what was acknowledged
};

struct EngineParts {
  std::shared_ptr<kv::MemoryDisk> disk;
  Scheduler& scheduler;
  Life& life;
  Durability durability;
};

/// What the real engine does, with time between its steps, so that a crash can come in any of them: transactions wait;
/// a group of them is carried out one after another, and those that follow see what it did; some time later the group
/// is on the disk, readers see it, and it is acknowledged. What was not on the disk is lost with the life.
class WatchedEngine final : public kv::Engine {
 public:
  WatchedEngine(EngineParts parts, ExpectedCause& expected, CommitWatcher watcher);
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override {
    return durability_ == Durability::kSynced ? durable_->snapshot() : ahead_->snapshot();
  }
  void submit(kv::TransactionBody body, kv::Completion done) override;
  void erase_ranges(std::vector<kv::KeyRange> ranges, kv::Completion done) override;
  [[nodiscard]] std::size_t queue_depth() const override { return waiting_.size(); }

  void abandon();

 private:
  struct Waiting {
    kv::TransactionBody body;
    kv::Completion done;
    Cause cause;
  };
  struct Executed {
    std::vector<RowChange> changes;
    kv::Completion done;
    Cause cause;
    Result<void> outcome;
  };
  using Group = std::vector<Executed>;
  void later(Duration most, void (WatchedEngine::*step)());
  void execute_waiting();
  void sync_next();
  void write(const std::vector<RowChange>& changes);

  std::unique_ptr<kv::Engine> durable_;
  std::unique_ptr<kv::Engine> ahead_ = kv::make_memory_engine();  // with what is not on the disk yet
  Scheduler& scheduler_;
  Life& life_;
  Durability durability_;
  CommitWatcher watcher_;
  std::deque<Waiting> waiting_;
  std::deque<Group> unsynced_;
  ExpectedCause& expected_;
};

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
  std::function<void(std::size_t shard, const std::vector<RowChange>& changes, const Cause& cause)> committed;
};

/// Divided over as many shards as there are engines.
class QueueHost final : public Callee {
 public:
  QueueHost(const std::vector<EngineParts>& parts, std::uint64_t seed, const QueueWatcher& watcher);
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

}  // namespace tidemark::simulation
