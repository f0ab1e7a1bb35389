#include "tests/simulation/watched_engine.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

/// A transaction that notes the changes of the body.
class WatchedTransaction final : public kv::Transaction {
 public:
  WatchedTransaction(kv::Transaction& inner, Noted& noted) : inner_(inner), noted_(noted) {}
  Result<std::optional<std::string>> get(std::string_view key) const override {
    if (key.starts_with('o')) noted_.ledger = key;
    return inner_.get(key);
  }
  std::unique_ptr<kv::Cursor> scan(const kv::KeyRange& range, kv::Direction direction) const override {
    return inner_.scan(range, direction);
  }
  void put(std::string_view key, std::string_view value) override {
    noted_.changes.push_back({std::string(key), std::string(value)});
    inner_.put(key, value);
  }
  void erase(std::string_view key) override {
    noted_.changes.push_back({std::string(key), std::nullopt});
    inner_.erase(key);
  }

 private:
  kv::Transaction& inner_;
  Noted& noted_;
};

}  // namespace

kv::TransactionBody watched(const kv::TransactionBody& body, Noted& noted) {
  return [&body, &noted](kv::Transaction& txn) -> Result<void> {
    noted = {};
    WatchedTransaction watching(txn, noted);
    return body(watching);
  };
}

void write_rows(kv::Engine& engine, const std::vector<RowChange>& changes) {
  kv::TransactionBody body = [&changes](kv::Transaction& txn) -> Result<void> {
    for (const auto& change : changes) {
      if (change.value) {
        txn.put(change.key, *change.value);
      } else {
        txn.erase(change.key);
      }
    }
    return {};
  };
  engine.submit(std::move(body), [](const Result<void>&) {});
}

void copy_rows(const kv::Reader& rows, kv::Engine& engine) {
  std::vector<RowChange> changes;
  for (auto cursor = rows.scan({}, kv::Direction::kForward); cursor->valid(); cursor->next()) {
    changes.push_back({std::string(cursor->key()), std::string(cursor->value())});
  }
  write_rows(engine, changes);
}

WatchedEngine::WatchedEngine(EngineParts parts, ExpectedCause& expected, CommitWatcher watcher)
    : durable_(kv::make_memory_engine(std::move(parts.disk))),
      scheduler_(parts.scheduler),
      life_(parts.life),
      durability_(parts.durability),
      watcher_(std::move(watcher)),
      expected_(expected) {
  copy_rows(*durable_->snapshot(), *ahead_);
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
    ahead_->submit(watched(transaction.body, executed.committed.noted),
                   [&executed](Result<void> result) { executed.outcome = std::move(result); });
    executed.done = std::move(transaction.done);
    executed.committed.cause = std::move(transaction.cause);
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
    const auto& changes = executed.committed.noted.changes;
    if (executed.outcome && !changes.empty()) {
      write_rows(*durable_, changes);
      watcher_(executed.committed);
    }
    if (executed.done) executed.done(std::move(executed.outcome));
  }
}

void WatchedEngine::abandon() {
  for (auto& transaction : std::exchange(waiting_, {})) transaction.done(fail(ErrorCode::kStorageFailure));
  for (auto& group : std::exchange(unsynced_, {})) {
    for (auto& executed : group) {
      if (executed.done) executed.done(fail(ErrorCode::kStorageFailure));
    }
  }
}

}  // namespace tidemark::simulation
