// Internal to postgres_*.cpp: reads of the committed state, on connections of their own. The owner alone writes, so
// what a transaction of PostgreSQL sees is what was committed at one moment. Thread safe; the calling thread waits for
// the database. What it gives out may outlive the engine.
#pragma once
#include <atomic>
#include <condition_variable>

#include "common/base/mutex.h"
#include "common/kv/postgres_database.h"

namespace tidemark::kv::detail {

class Reads : public std::enable_shared_from_this<Reads> {
 public:
  explicit Reads(PostgresOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key);
  /// Snapshots of one moment share a connection: of the latest one, if nothing has been sent since it began. One that
  /// could not be opened says why at each read.
  [[nodiscard]] std::shared_ptr<const Reader> snapshot();
  /// Of a moment that begins now, whoever wrote last. Those who wait for it share it.
  [[nodiscard]] std::shared_ptr<const Reader> fresh_snapshot();
  /// The shard has had this epoch: what shows a lower one is the past.
  void know(std::int64_t epoch);

  // Of the writer's thread.

  /// A change is about to be sent. Until committed(), others may see it already, and a moment that began earlier does
  /// not: none is shared. If nobody ever knows what became of it, that stays so.
  void committing() { changes_.fetch_or(1); }
  /// It was committed under this epoch, and is about to be told: what is read from now on shows it.
  void committed(std::int64_t epoch) {
    know(epoch);
    changes_ = (changes_ | 1) + 1;
  }

 private:
  class Moment;
  class Snapshot;
  class Walk;
  /// To a server that had an epoch of the shard when it was asked. One that has lower ones than are known was the
  /// leader, and does not know yet that it is not: what it would show is the past.
  struct Link {
    std::unique_ptr<Connection> connection;
    std::uint64_t silences = 0;  // of the database, before it was made (postgres_hosts.h)
    std::int64_t epoch = 0;
    Connection* operator->() const { return connection.get(); }
  };

  using Begun = Result<std::shared_ptr<Moment>>;
  /// A moment that has not begun yet: whoever asks until then gets it.
  struct Beginning {
    std::optional<Begun> outcome;
  };

  Result<Link> take();
  void give_back(Link link);
  [[nodiscard]] std::shared_ptr<Moment> shared_moment();
  Begun next_moment();
  Begun begin_moment();
  Result<Link> begin_transaction();

  const PostgresOptions options_;
  std::atomic<std::uint64_t> changes_{0};  // twice as many as were told, and odd while one is on its way
  std::atomic<std::int64_t> epoch_{0};     // the highest that is known
  Mutex mutex_;
  std::vector<Link> idle_ GUARDED_BY(mutex_);
  std::weak_ptr<Moment> latest_ GUARDED_BY(mutex_);
  std::size_t moments_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Beginning> next_ GUARDED_BY(mutex_);  // null: nobody waits for it
  bool beginning_ GUARDED_BY(mutex_) = false;           // one begins, for whoever asked before
  std::condition_variable_any begun_;
};

}  // namespace tidemark::kv::detail
