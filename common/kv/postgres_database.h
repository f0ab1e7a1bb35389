// Internal to postgres_*.cpp: the rows of a shard (postgres_tables.h), and who owns it.
#pragma once
#include <atomic>

#include "common/kv/known_rows.h"
#include "common/kv/postgres_tables.h"
#include "common/kv/rewritten_rows.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv::detail {

/// The first rows of a range in the order of a walk: (key, value).
Statement range_statement(std::int64_t shard, const KeyRange& range, Direction direction, std::size_t limit);
/// What was fetched: the rows of the keys, then those of each range.
struct Fetched {
  std::vector<SqlRows> rows;
  void learn(const KnownRows::Missing& missing, KnownRows& known) const;
};

/// The shard as its owner uses it. A commit that fails leaves nothing behind. When a connection is lost, the shard is
/// claimed again under a higher epoch, by the same owner: then whatever the lost connection had sent is either
/// committed already, or never will be. The number of the last group says which; if it is lower than what was
/// acknowledged, the database went back in time, and the shard is to be opened anew.
class OwnedShard {
 public:
  static Result<OwnedShard> claim(const PostgresOptions& options);

  /// Takes it if its row is still as options.seen says; kServerBusy if it is not.
  static Result<OwnedShard> claim_seen(const PostgresOptions& options);

  /// Commits the writes. kServerBusy if another has taken the shard: then fenced(). kOperationTimedOut if the outcome
  /// is not known after settle_patience; nothing may be done with the shard then.
  Result<void> commit(const WriteOverlay& writes);
  /// The shard is still this owner's: nobody else has written since it was claimed. Asks unless the lease says so.
  Result<void> check();
  /// The same while nothing is under way: renews the lease. A lost connection is claimed again, once. Waits at most
  /// `read_patience`.
  Result<void> look();
  /// The next owner need not wait.
  void release();
  /// What is missing, in one round trip.
  Result<Fetched> fetch(const KnownRows::Missing& missing);
  /// Erases the first rows of a range, and makes it begin behind them; false if none is left.
  Result<bool> erase_some(KeyRange& range);

  /// The database cannot be reached, and was tried. From any thread.
  [[nodiscard]] bool away() const { return shared_->away; }
  /// Nobody else can have taken the shard before now. From any thread.
  [[nodiscard]] bool sure() const;
  [[nodiscard]] std::chrono::nanoseconds lease_ends() const { return std::chrono::nanoseconds(shared_->lease_ends_ns); }
  [[nodiscard]] std::int64_t epoch() const { return shared_->epoch; }
  /// As PostgresEngine::renewed(). From any thread.
  void renewed(std::int64_t epoch, std::chrono::nanoseconds sent);
  /// The lease is to be renewed now, unless somebody else does. From the owner's thread.
  [[nodiscard]] bool due_for_renewal() const;
  [[nodiscard]] bool fenced() const { return shared_->fenced; }
  /// Nobody can tell any more what was committed, or the database does not have it any more.
  [[nodiscard]] bool unknown() const { return unknown_; }
  [[nodiscard]] std::uint64_t settled() const { return settled_; }

 private:
  OwnedShard(const PostgresOptions& options, std::unique_ptr<Connection> connection)
      : options_(&options), connection_(std::move(connection)) {}
  Result<void> take();
  Result<bool> try_to_take(const SeenOwner& seen);
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
  /// What any thread may look at.
  struct Shared {
    std::atomic<std::int64_t> epoch{0};
    std::atomic<std::int64_t> lease_ends_ns{0};  // of lease_clock(); only ever later
    std::atomic<bool> away{false};
    std::atomic<bool> fenced{false};
    std::atomic<bool> over{false};  // fenced, or nobody knows
  };
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  bool unknown_ = false;
};

}  // namespace tidemark::kv::detail
