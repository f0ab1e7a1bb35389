// The engine of a store in the simulation: it shows every commit to a watcher, takes a little time for it, and dies
// with its life. One thread.
#pragma once
#include <deque>

#include "tests/simulation/network.h"
#include "tests/support/memory_engine.h"

namespace tidemark::simulation {

struct RowChange {
  std::string key;
  std::optional<std::string> value;  // nothing: the row was erased
};

/// The effects of a transaction.
struct Noted {
  std::vector<RowChange> changes;
  std::string ledger;  // the key of the operation's ledger that it read; empty: it has no fence
};

/// The call that a transaction was made for; empty if no call was being answered.
struct Cause {
  std::string method;
  std::string payload;
  int caller = -1;
};

/// A commit and its cause.
struct Committed {
  Noted noted;
  Cause cause;
};

/// The call that is being started, and the number of transactions that it makes before it first waits.
struct ExpectedCause {
  Cause cause;
  std::size_t transactions = 0;

  Cause take() { return transactions == 0 ? Cause{} : (--transactions, cause); }
};

/// Returns a body that runs this one and notes the effects of each run. Both arguments must outlive it.
kv::TransactionBody watched(const kv::TransactionBody& body, Noted& noted);
void write_rows(kv::Engine& engine, const std::vector<RowChange>& changes);
void copy_rows(const kv::Reader& rows, kv::Engine& engine);

using CommitWatcher = std::function<void(const Committed&)>;

enum class Durability : std::uint8_t {
  kSynced = 1,              // acknowledged once it is on the disk
  kAcknowledgedBefore = 2,  // a broken engine: a crash loses acknowledged commits
};

struct EngineParts {
  std::shared_ptr<kv::MemoryDisk> disk;
  Scheduler& scheduler;
  Life& life;
  Durability durability;
};

/// Takes the steps of the real engine with time between them, so that a crash can come in any of them: transactions
/// wait; a group of them is carried out one after another, and later ones see its effects; some time later the group is
/// on the disk, readers see it, and it is acknowledged. A crash loses the groups that are not on the disk.
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
    Committed committed;
    kv::Completion done;
    Result<void> outcome;
  };
  using Group = std::vector<Executed>;
  void later(Duration most, void (WatchedEngine::*step)());
  void execute_waiting();
  void sync_next();

  std::unique_ptr<kv::Engine> durable_;
  std::unique_ptr<kv::Engine> ahead_ = kv::make_memory_engine();  // with the groups that are not on the disk yet
  Scheduler& scheduler_;
  Life& life_;
  Durability durability_;
  CommitWatcher watcher_;
  std::deque<Waiting> waiting_;
  std::deque<Group> unsynced_;
  ExpectedCause& expected_;
};

}  // namespace tidemark::simulation
