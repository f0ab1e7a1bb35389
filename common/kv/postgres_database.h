// Internal to postgres_*.cpp: the tables of a store in PostgreSQL, and who owns a shard.
//   entries  (shard, key) -> value
//   owners   shard -> epoch, owner, last_group     last_group numbers the group that was committed last
//   about    format: of these tables
#pragma once
#include "common/kv/known_rows.h"
#include "common/kv/postgres_connection.h"
#include "common/kv/postgres_engine.h"
#include "common/kv/write_overlay.h"

namespace tidemark::kv::detail {

/// Which server it is: version() and server_version_num. kConfigInvalid if the engine cannot work with it.
Result<void> check_version(const std::string& version, std::int64_t number);
/// A connection that is ready for statements on the tables.
Result<std::unique_ptr<Connection>> connect(const PostgresOptions& options);
/// The first rows of a range in the order of a walk: (key, value).
Statement range_statement(std::int64_t shard, const KeyRange& range, Direction direction, std::size_t limit);
/// Checks the server, and makes what is not there.
Result<void> prepare_tables(const PostgresOptions& options);

/// The shard as its owner uses it. A commit that fails leaves nothing behind. When a connection is lost, the shard is
/// claimed again under a higher epoch, by the same owner: then whatever the lost connection had sent is either
/// committed already, or never will be. The number of the last group says which.
class OwnedShard {
 public:
  static Result<OwnedShard> claim(const PostgresOptions& options);

  /// Commits the writes. kServerBusy if another has taken the shard: then fenced(). kOperationTimedOut if the outcome
  /// is not known after settle_patience; nothing may be done with the shard then.
  Result<void> commit(const WriteOverlay& writes);
  /// The shard is still this owner's: nobody else has written since it was claimed.
  Result<void> check();
  /// Adds what is missing to what is known, in one round trip.
  Result<void> fetch(const KnownRows::Missing& missing, KnownRows& known);
  /// Erases the first rows of a range, and makes it begin behind them; false if none is left.
  Result<bool> erase_some(KeyRange& range);

  [[nodiscard]] bool fenced() const { return fenced_; }
  /// Nobody can tell any more what was committed.
  [[nodiscard]] bool unknown() const { return unknown_; }
  [[nodiscard]] std::uint64_t settled() const { return settled_; }

 private:
  OwnedShard(const PostgresOptions& options, std::unique_ptr<Connection> connection)
      : options_(&options), connection_(std::move(connection)) {}
  Result<void> claim_again();
  Result<bool> try_to_claim_again();
  Error taken_over();

  const PostgresOptions* options_;
  std::unique_ptr<Connection> connection_;
  std::int64_t epoch_ = 0;
  std::int64_t last_group_ = 0;
  std::uint64_t settled_ = 0;
  bool fenced_ = false;
  bool unknown_ = false;
};

}  // namespace tidemark::kv::detail
