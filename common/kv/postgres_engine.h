// The engine on PostgreSQL, for one shard: one table of (shard, key, value), of which this process owns a shard. The
// owner alone writes. It runs waiting bodies one after another over what it knows of the rows, fetches what they miss
// together, and commits a group of them in one statement, which also checks that it still is the owner and notes the
// number of the group. docs/scale.md says why that is right, and what happens when connections and owners die.
//
// Beside the promises of engine.h:
// - A body is run again whenever it read what was not known, and bodies behind it may have been run in vain with it.
// - Reads of snapshots and get() ask the database; the calling thread waits for the answer, at most `read_patience`.
//   snapshot() asks as well, unless one is open that shows the same; where many ask at once, for two answers.
// - Transactions may be told before an erasure that was asked for earlier. drain() waits for both.
// - If another process takes the shard over, every later transaction fails with kServerBusy, and failure() says so.
// - If a group is refused, as by a full disk, or nobody can tell whether it was committed, that is
//   kStorageFailure: open it again.
// - While the database cannot be reached, new transactions fail with kServerBusy; earlier ones wait.
// - Keys of more than 2,600 bytes do not fit into an index of PostgreSQL: the transaction fails.
#pragma once
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/base/histogram.h"
#include "common/kv/shard_claims.h"
#include "common/kv/stored_engine.h"
#include "common/kv/stored_size.h"

namespace tidemark::kv {

inline constexpr std::size_t kLongestPostgresKey = 2600;

struct PostgresOptions {
  /// postgresql://user:password@host,host/database?sslmode=verify-full, or as libpq takes it otherwise.
  std::string url;
  /// The schema of the database that has the rows of this store: [a-z_][a-z0-9_]*, at most 63 bytes.
  std::string schema;
  std::int64_t shard = 0;
  /// Names this opening of the shard in the table of owners. Never used twice.
  std::string owner;
  /// Whose rows these are, in the caller's words: kept with the tables that are made. Tables that have another stamp
  /// are refused.
  std::string stamp;
  /// For so long after it was last seen to be the owner, an owner may answer get() from memory; nobody else takes the
  /// shard before. 0: it asks the database each time, and anybody may take the shard at once.
  std::chrono::milliseconds lease{0};
  /// Where this process runs, if whoever ran there before is known to have ended: it need not be waited for.
  std::string place;
  /// The owner's row as it was read: claim_postgres() takes the shard only if nothing has happened to it since.
  std::optional<SeenOwner> seen = {};
  /// Somebody renews the lease, and tells the engine: it asks by itself only if that fails to happen.
  bool renewed_elsewhere = false;
  /// Acknowledged writes are to survive a power cut: a server that promises less is refused.
  bool durable = true;
  std::size_t max_queued_transactions = 16384;
  /// Memory for what is known of the rows.
  std::size_t known_bytes = 64UL << 20;
  /// Snapshots hold a connection each; those beyond fail with kServerBusy.
  std::size_t max_snapshots = 64;
  std::chrono::milliseconds read_patience{10'000};
  /// What the writer asks is to be answered within this. Otherwise the server is taken for gone, as one is that stands
  /// still, and a further connection, perhaps to another server, finds out what became of it.
  std::chrono::milliseconds answer_patience{10'000};
  /// How long the outcome of a group may be unknown, while the database cannot be reached. Then the engine fails.
  std::chrono::milliseconds settle_patience{30'000};
};

/// What the engine has done since it was opened.
struct PostgresFigures {
  std::uint64_t groups = 0, transactions = 0;
  std::uint64_t bodies_run = 0;                    // a transaction whose body ran three times counts three
  std::uint64_t fetches = 0;                       // round trips for what bodies missed
  std::uint64_t known_reads = 0, asked_reads = 0;  // get() from memory, and from the database
  std::uint64_t settled = 0;                       // groups whose outcome was looked up after a lost connection
  Histogram::Counts commits_us;                    // how long groups took to be committed
  std::span<const std::uint64_t> commit_bounds_us;
};

/// Its files are the database's: files() names none, and what makes copies of files fails and says so.
class PostgresEngine : public StoredEngine {
 public:
  /// Under which it owns the shard.
  [[nodiscard]] virtual std::int64_t epoch() const = 0;
  /// The lease was renewed under this epoch by a statement that was sent then, by lease_clock().
  virtual void renewed(std::int64_t epoch, std::chrono::nanoseconds sent) = 0;
  /// When its lease is over, by lease_clock().
  [[nodiscard]] virtual std::chrono::nanoseconds lease_ends() const = 0;
  /// It takes nothing any more, and never will: another process has the shard, or failure() says what else happened.
  [[nodiscard]] virtual bool ended() const = 0;
  [[nodiscard]] virtual PostgresFigures figures() const = 0;
};

/// The stamp of the tables; nothing if there are none. Claims no shard. kConfigInvalid, kStorageFailure as below.
Result<std::optional<std::string>> postgres_stamp(const PostgresOptions& options);

/// About how much each shard has, from what the database noted when it analysed its tables last; nothing: it has not,
/// or not of this shard. kServerBusy if it cannot be reached.
Result<std::vector<std::optional<StoredSize>>> postgres_sizes(const PostgresOptions& options, std::size_t shards);

/// Makes schema and tables if they are not there, and takes the shard from whoever owned it: their next commit fails.
/// Waits until an owner's lease is over; kConfigInvalid if it is renewed meanwhile, so that the owner lives.
/// kConfigInvalid if the server is not PostgreSQL, or not one that can be used, or has other rows there;
/// kStorageFailure if it cannot be reached.
Result<std::unique_ptr<PostgresEngine>> open_postgres(const PostgresOptions& options);

/// The same for one of several processes that share the shards of a database, whose tables are there already: takes the
/// shard if its row is as options.seen says. kServerBusy if it is not, or the database cannot be reached.
Result<std::unique_ptr<PostgresEngine>> claim_postgres(const PostgresOptions& options);

/// The clock of leases: CLOCK_BOOTTIME, which goes on while a machine sleeps.
std::chrono::nanoseconds lease_clock();

}  // namespace tidemark::kv
