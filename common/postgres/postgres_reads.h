// Internal to postgres_*.cpp: reads of the committed state, on connections of their own. Only the owner writes, so a
// transaction of PostgreSQL sees the commits up to one moment. Thread safe; the calling thread waits for the database.
// The readers that it returns may outlive the engine.
#pragma once
#include <atomic>
#include <condition_variable>

#include "common/base/mutex.h"
#include "common/postgres/postgres_database.h"

namespace tidemark::kv::detail {

class Reads : public std::enable_shared_from_this<Reads> {
 public:
  explicit Reads(PostgresOptions options) : options_(std::move(options)) {}

  [[nodiscard]] Result<std::optional<std::string>> get(std::string_view key);
  /// Snapshots of one moment share a connection: that of the latest one, if nothing has been sent since it began. A
  /// snapshot that could not be opened says why at each read.
  [[nodiscard]] std::shared_ptr<const Reader> snapshot();
  /// Returns a snapshot of a moment that begins now, no matter which process wrote last. Threads that wait for it share
  /// it.
  [[nodiscard]] std::shared_ptr<const Reader> fresh_snapshot();
  /// The shard has had this epoch: a server that shows a lower one shows the past.
  void know(std::int64_t epoch);

  // For the writer's thread.

  /// A change is about to be sent. Until committed(), other readers may see it already, but moments that began earlier
  /// do not: none is shared. If the outcome of the change never becomes known, that stays so.
  void committing() { changes_.fetch_or(1); }
  /// The change was committed under this epoch, and is about to be told: all reads from now on show it.
  void committed(std::int64_t epoch) {
    know(epoch);
    changes_ = (changes_ | 1) + 1;
  }

 private:
  class Moment;
  class Snapshot;
  class Walk;
  /// A connection to a server that had an epoch of the shard when it was asked. A server with a lower epoch than the
  /// known one was the leader, and does not know yet that it no longer is: it would show the past.
  struct Link {
    std::unique_ptr<Connection> connection;
    std::uint64_t silences = 0;  // of the database, before the connection was made (postgres_hosts.h)
    std::int64_t epoch = 0;
    Connection* operator->() const { return connection.get(); }
  };

  using Begun = Result<std::shared_ptr<Moment>>;
  /// A moment that has not begun yet: all threads that ask until then get it.
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
  std::atomic<std::uint64_t> changes_{0};  // twice the number of told changes; odd while one is on its way
  std::atomic<std::int64_t> epoch_{0};     // the highest known one
  Mutex mutex_;
  std::vector<Link> idle_ GUARDED_BY(mutex_);
  std::weak_ptr<Moment> latest_ GUARDED_BY(mutex_);
  std::size_t moments_ GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Beginning> next_ GUARDED_BY(mutex_);  // null: no thread waits for it
  bool beginning_ GUARDED_BY(mutex_) = false;           // one begins, for threads that asked before
  std::condition_variable_any begun_;
};

}  // namespace tidemark::kv::detail
