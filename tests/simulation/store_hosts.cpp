#include "tests/simulation/store_hosts.h"

#include "queue_service/internal/queue_dispatch.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/internal/table_messages.h"

namespace tidemark::simulation {
namespace {

using namespace std::chrono_literals;

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
Task<Result<std::string>> answer_with(WatchedEngine& engine, const rpc::Dispatch& dispatch, Request request) {
  std::size_t transactions = 1;
  if (request.method == "table.move_all") {
    if (auto moves = table_store::decode_move_all_request(request.payload)) transactions = moves->moves.size();
  }
  engine.expect({request.method, request.payload, request.caller}, transactions);
  auto task = dispatch(std::move(request.method), std::move(request.payload));
  auto result = co_await std::move(task);
  engine.expect({}, 0);  // of a call that was refused before its transaction
  co_return result;
}

}  // namespace

void WatchedEngine::expect(Cause cause, std::size_t transactions) {
  cause_ = std::move(cause);
  expected_ = transactions;
}

void WatchedEngine::submit(kv::TransactionBody body, kv::Completion done) {
  if (life_.dead()) {
    done(fail(ErrorCode::kStorageFailure));
    return;
  }
  waiting_.push_back({std::move(body), std::move(done), expected_ > 0 ? cause_ : Cause{}});
  if (expected_ > 0) --expected_;
  if (waiting_.size() > 1) return;
  scheduler_.after(scheduler_.dice().between(0ms, 2ms),
                   [this, scheduler = &scheduler_, host = life_.host(), number = life_.number()] {
                     if (scheduler->find_life(host, number) != nullptr) commit_next();
                   });
}

void WatchedEngine::commit_next() {
  // A group: everything that waits now is made durable together.
  auto group = std::exchange(waiting_, {});
  for (auto& transaction : group) {
    std::vector<RowChange> changes;
    kv::TransactionBody watched = [&](kv::Transaction& txn) -> Result<void> {
      changes.clear();
      WatchedTransaction watching(txn, changes);
      return transaction.body(watching);
    };
    Result<void> outcome;
    inner_->submit(std::move(watched), [&outcome](Result<void> result) { outcome = std::move(result); });
    if (outcome && !changes.empty()) watcher_(changes, transaction.cause);
    transaction.done(std::move(outcome));
  }
}

void WatchedEngine::abandon() {
  for (auto& transaction : std::exchange(waiting_, {})) transaction.done(fail(ErrorCode::kStorageFailure));
}

TableHost::TableHost(std::shared_ptr<kv::MemoryDisk> disk, Scheduler& scheduler, Life& life, std::uint64_t seed,
                     CommitWatcher watcher)
    : engine_(std::move(disk), scheduler, life, std::move(watcher)),
      random_(make_seeded_random(seed)),
      service_(engine_, life.clock(), *random_),
      dispatch_(table_store::make_table_dispatch(service_)) {}

Task<Result<std::string>> TableHost::answer(Request request) {
  return answer_with(engine_, dispatch_, std::move(request));
}

QueueHost::QueueHost(std::shared_ptr<kv::MemoryDisk> disk, Scheduler& scheduler, Life& life, std::uint64_t seed,
                     CommitWatcher watcher)
    : engine_(std::move(disk), scheduler, life, std::move(watcher)),
      random_(make_seeded_random(seed)),
      service_(engine_, life.clock(), *random_),
      dispatch_(queue_service::make_queue_dispatch(service_)) {}

Task<Result<std::string>> QueueHost::answer(Request request) {
  return answer_with(engine_, dispatch_, std::move(request));
}

}  // namespace tidemark::simulation
