// The engine on PostgreSQL, for one shard: there is one table of (shard, key, value), and this process owns one shard
// of it. Only the owner writes. It runs the waiting bodies one after another over the known rows, fetches all rows that
// they miss together, and commits a group of them in one statement, which also checks that it is still the owner, and
// notes the number of the group. docs/scale.md says why that is right, and what happens when connections and owners
// die.
//
// Beside the promises of engine.h:
// - A body is run again whenever it read an unknown row, and bodies behind it may have been run in vain.
// - Reads of snapshots and get() ask the database; the calling thread waits for the answer, at most `read_patience`.
//   snapshot() asks too, unless an open snapshot shows the same state; where many threads ask at once, they wait for
//   two answers at most.
// - Transactions may be told before an earlier erasure. drain() waits for both.
// - If another process takes the shard over, every later transaction fails with kServerBusy, and failure() says so.
// - If a group is refused, as by a full disk, or it is unknown whether it was committed, that is kStorageFailure: open
//   the engine again.
// - While the database cannot be reached, new transactions fail with kServerBusy; earlier ones wait.
// - Keys of more than 2,600 bytes do not fit into an index of PostgreSQL: the transaction fails.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/histogram.h"
#include "common/kv/stored_engine.h"
#include "common/kv/stored_size.h"
#include "common/shards/shard_claims.h"

namespace tidemark::kv {

inline constexpr std::size_t kLongestPostgresKey = 2600;

struct PostgresOptions {
  /// postgresql://user:password@host,host/database?sslmode=verify-full, or another form that libpq accepts.
  std::string url;
  /// The schema of the database that has the rows of this store: [a-z_][a-z0-9_]*, at most 63 bytes.
  std::string schema;
  std::int64_t shard = 0;
  /// Names this opening of the shard in the table of owners. Never used twice.
  std::string owner;
  /// Names the owner of the rows, in the caller's words; stored with the tables when they are made. Tables with another
  /// stamp are refused.
  std::string stamp;
  /// For this long after it was last seen to be the owner, an owner may answer get() from memory; no other process
  /// takes the shard before that. 0: it asks the database each time, and any process may take the shard at once.
  std::chrono::milliseconds lease{0};
  /// The place where this process runs, if its predecessor there is known to have ended and need not be waited for.
  std::string place;
  /// The owner's row as it was read: claim_postgres() takes the shard only if the row has not changed since.
  std::optional<shards::SeenOwner> seen = {};
  /// Other code renews the lease and tells the engine. The engine renews it by itself only if the other code fails to.
  bool renewed_elsewhere = false;
  /// Acknowledged writes must survive a power cut: a server that promises less is refused.
  bool durable = true;
  std::size_t max_queued_transactions = 16384;
  /// The memory for known rows.
  std::size_t known_bytes = 64UL << 20;
  /// Each snapshot holds a connection; snapshots beyond this number fail with kServerBusy.
  std::size_t max_snapshots = 64;
  std::chrono::milliseconds read_patience{10'000};
  /// The writer's statements must be answered within this time. Otherwise the server counts as gone, as does one that
  /// stands still, and a further connection, perhaps to another server, finds out the outcome.
  std::chrono::milliseconds answer_patience{10'000};
  /// How long the outcome of a group may be unknown while the database cannot be reached. Then the engine fails.
  std::chrono::milliseconds settle_patience{30'000};
};

/// The work of the engine since it was opened.
struct PostgresFigures {
  std::uint64_t groups = 0, transactions = 0;
  std::uint64_t bodies_run = 0;                    // a transaction whose body ran three times counts three
  std::uint64_t fetches = 0;                       // round trips for rows that bodies missed
  std::uint64_t known_reads = 0, asked_reads = 0;  // get() from memory, and from the database
  std::uint64_t settled = 0;                       // groups whose outcome was looked up after a lost connection
  Histogram::Counts commits_us;                    // how long the commits of groups took
  std::span<const std::uint64_t> commit_bounds_us;
};

/// Its files are the database's: files() names none, and the calls that copy files fail and say so.
class PostgresEngine : public StoredEngine {
 public:
  /// The epoch under which it owns the shard.
  [[nodiscard]] virtual std::int64_t epoch() const = 0;
  /// The lease was renewed under this epoch by a statement that was sent at that time, by lease_clock().
  virtual void renewed(std::int64_t epoch, std::chrono::nanoseconds sent) = 0;
  /// Returns when its lease ends, by lease_clock().
  [[nodiscard]] virtual std::chrono::nanoseconds lease_ends() const = 0;
  /// True if it takes nothing any more, and never will: another process has the shard, or failure() tells the cause.
  [[nodiscard]] virtual bool ended() const = 0;
  [[nodiscard]] virtual PostgresFigures figures() const = 0;
};

/// Returns the stamp of the tables; nothing if there are no tables. Claims no shard. kConfigInvalid and kStorageFailure
/// as below.
Result<std::optional<std::string>> postgres_stamp(const PostgresOptions& options);

/// Returns the approximate size of each shard, as the database noted when it last analysed its tables; nothing for a
/// shard that was not analysed. kServerBusy if the database cannot be reached.
Result<std::vector<std::optional<StoredSize>>> postgres_sizes(const PostgresOptions& options, std::size_t shards);

/// Makes schema and tables if they are missing, and takes the shard from its owner, whose next commit fails. Waits
/// until an owner's lease is over; kConfigInvalid if the lease is renewed meanwhile, so that the owner lives.
/// kConfigInvalid if the server is not PostgreSQL, or not a usable one, or has other rows there; kStorageFailure if it
/// cannot be reached.
Result<std::unique_ptr<PostgresEngine>> open_postgres(const PostgresOptions& options);

/// Does the same for one of several processes that share the shards of a database, whose tables exist already: takes
/// the shard if its row equals options.seen. kServerBusy if it does not, or the database cannot be reached.
Result<std::unique_ptr<PostgresEngine>> claim_postgres(const PostgresOptions& options);

/// The clock of leases: CLOCK_BOOTTIME, which goes on while a machine sleeps.
std::chrono::nanoseconds lease_clock();

}  // namespace tidemark::kv
