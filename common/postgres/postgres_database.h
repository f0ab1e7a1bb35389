// Internal to postgres_*.cpp: the rows of a shard (postgres_tables.h), and the ownership of the shard.
#pragma once
#include <atomic>

#include "common/kv/rewritten_rows.h"
#include "common/kv/write_overlay.h"
#include "common/postgres/known_rows.h"
#include "common/postgres/postgres_tables.h"

namespace tidemark::kv::detail {

/// Selects the first rows of a range in the order of a walk: (key, value).
Statement range_statement(std::int64_t shard, const KeyRange& range, Direction direction, std::size_t limit);
/// The fetched rows: those of the keys, then those of each range.
struct Fetched {
  std::vector<SqlRows> rows;
  void learn(const KnownRows::Missing& missing, KnownRows& known) const;
};

/// The shard as its owner uses it. A commit that fails leaves nothing behind. When a connection is lost, the same owner
/// claims the shard again under a higher epoch: then everything that the lost connection had sent is either committed
/// already, or never will be. The number of the last group says which; if it is lower than the acknowledged one, the
/// database went back in time, and the shard must be opened anew.
class OwnedShard {
 public:
  static Result<OwnedShard> claim(const PostgresOptions& options);

  /// Takes the shard if its row still equals options.seen; kServerBusy if it does not.
  static Result<OwnedShard> claim_seen(const PostgresOptions& options);

  /// Commits the writes. kServerBusy if another process has taken the shard: then fenced(). kOperationTimedOut if the
  /// outcome is not known after settle_patience; the shard must not be used any more then.
  Result<void> commit(const WriteOverlay& writes);
  /// Checks that the shard is still this owner's, and nobody else has written since it was claimed. Asks the database
  /// only if the lease must be renewed.
  Result<void> check();
  /// Does the same while nothing is under way: renews the lease. After the loss of a connection, claims the shard
  /// again, once. Waits at most `read_patience`.
  Result<void> look();
  /// Ends the lease, so that the next owner need not wait.
  void release();
  /// Fetches the missing rows in one round trip.
  Result<Fetched> fetch(const KnownRows::Missing& missing);
  /// Erases the first rows of a range, and makes the range begin behind them; false if none is left.
  Result<bool> erase_some(KeyRange& range);

  /// True if the database cannot be reached, as the last attempt showed. From any thread.
  [[nodiscard]] bool away() const { return shared_->away; }
  /// True if no other process can have taken the shard before now. From any thread.
  [[nodiscard]] bool sure() const;
  [[nodiscard]] std::chrono::nanoseconds lease_ends() const { return std::chrono::nanoseconds(shared_->lease_ends_ns); }
  [[nodiscard]] std::int64_t epoch() const { return shared_->epoch; }
  /// Does the same as PostgresEngine::renewed(). From any thread.
  void renewed(std::int64_t epoch, std::chrono::nanoseconds sent);
  /// Tells whether the lease must be renewed now, unless another part renews it. From the owner's thread.
  [[nodiscard]] bool due_for_renewal() const;
  [[nodiscard]] bool fenced() const { return shared_->fenced; }
  /// True if it is unknown which groups were committed, or the database has lost one of them.
  [[nodiscard]] bool unknown() const { return unknown_; }
  [[nodiscard]] std::uint64_t settled() const { return settled_; }

 private:
  OwnedShard(const PostgresOptions& options, std::unique_ptr<Connection> connection)
      : options_(&options), connection_(std::move(connection)) {}
  Result<void> take();
  Result<bool> try_to_take(const shards::SeenOwner& seen);
  Result<void> find_rewritten();
  Result<void> remove_older_than(const RewrittenRows::Groups& newest);
  Result<void> let_calm_down(std::int64_t group);
  Result<void> commit(const RewrittenRows::Plan& plan, std::int64_t group);
  Result<void> ask_whether_owned(Connection::Patience patience);
  void extend(std::chrono::nanoseconds sent);
  Result<bool> claim_by(Connection& connection, Statement claim, Connection::Patience patience);
  Result<void> claim_again();
  Result<void> try_to_claim_again();
  Error taken_over();
  Error gone_back(std::int64_t known_group);

  const PostgresOptions* options_;
  std::unique_ptr<Connection> connection_;
  std::int64_t last_group_ = 0;
  RewrittenRows rewritten_;
  std::uint64_t settled_ = 0;
  /// The data that any thread may read.
  struct Shared {
    std::atomic<std::int64_t> epoch{0};
    std::atomic<std::int64_t> lease_ends_ns{0};  // by lease_clock(); it only ever rises
    std::atomic<bool> away{false};
    std::atomic<bool> fenced{false};
    std::atomic<bool> over{false};  // fenced, or its state is unknown
  };
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  bool unknown_ = false;
};

}  // namespace tidemark::kv::detail
