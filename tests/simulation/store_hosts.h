// The two stores as processes of the simulation: the real service and dispatch over an engine that shows every commit
// to a watcher, takes a little time for it, and dies with its life.
#pragma once
#include <deque>

#include "common/kv/memory_engine.h"
#include "queue_service/storage/queue_service.h"
#include "table_store/storage/table_service.h"
#include "tests/simulation/network.h"

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

using CommitWatcher = std::function<void(const std::vector<RowChange>& changes, const Cause& cause)>;

/// The memory engine behind a writer that takes its time: transactions are committed one after the other, each a
/// little after it was submitted, so that a crash can come before or after the commit.
class WatchedEngine final : public kv::Engine {
 public:
  WatchedEngine(std::shared_ptr<kv::MemoryDisk> disk, Scheduler& scheduler, Life& life, CommitWatcher watcher)
      : inner_(kv::make_memory_engine(std::move(disk))),
        scheduler_(scheduler),
        life_(life),
        watcher_(std::move(watcher)) {}
  [[nodiscard]] std::shared_ptr<const kv::Reader> snapshot() const override { return inner_->snapshot(); }
  void submit(kv::TransactionBody body, kv::Completion done) override;
  Result<void> erase_range(const kv::KeyRange& range) override { return inner_->erase_range(range); }
  [[nodiscard]] std::size_t queue_depth() const override { return waiting_.size(); }

  /// The call that is being started makes so many transactions before it first waits.
  void expect(Cause cause, std::size_t transactions);
  void abandon();

 private:
  struct Waiting {
    kv::TransactionBody body;
    kv::Completion done;
    Cause cause;
  };
  void commit_next();
  std::unique_ptr<kv::Engine> inner_;
  Scheduler& scheduler_;
  Life& life_;
  CommitWatcher watcher_;
  std::deque<Waiting> waiting_;
  Cause cause_;  // of the next `expected_` transactions
  std::size_t expected_ = 0;
};

class TableHost final : public Callee {
 public:
  TableHost(std::shared_ptr<kv::MemoryDisk> disk, Scheduler& scheduler, Life& life, std::uint64_t seed,
            CommitWatcher watcher);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override { engine_.abandon(); }

 private:
  WatchedEngine engine_;
  std::unique_ptr<Random> random_;
  table_store::TableService service_;
  rpc::Dispatch dispatch_;
};

class QueueHost final : public Callee {
 public:
  QueueHost(std::shared_ptr<kv::MemoryDisk> disk, Scheduler& scheduler, Life& life, std::uint64_t seed,
            CommitWatcher watcher);
  Task<Result<std::string>> answer(Request request) override;
  void unwind() override {
    engine_.abandon();
    service_.begin_shutdown();
  }

 private:
  WatchedEngine engine_;
  std::unique_ptr<Random> random_;
  queue_service::QueueService service_;
  rpc::Dispatch dispatch_;
};

}  // namespace tidemark::simulation
