// Internal to postgres_*.cpp and shard_owners.cpp: the tables by which processes share the shards of a database. Beside
// those of postgres_tables.h:
//   processes  name -> address, renewals, place    a row for each process that lives; place as in owners
//   wishes     shard -> process                    the one that is to have it
// The process of an owner is what stands before '#' in its name. One thread at a time. Errors: the database cannot be
// reached; the next call connects again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/kv/postgres_tables.h"
#include "common/kv/shard_claims.h"

namespace tidemark::kv::detail {

/// A shard of this process, and the epoch under which it has it.
struct HeldShard {
  std::size_t shard = 0;
  std::int64_t epoch = 0;
};

class OwnersTables {
 public:
  /// Makes what is not there. `options` must outlive it; their tables are prepared.
  static Result<OwnersTables> open(const PostgresOptions& options, std::size_t shards);

  Result<OwnersTable> read();
  /// Raises the counters of the process and of its shards, in one transaction. Those that it still owns.
  Result<std::vector<std::size_t>> renew(const ProcessRow& me, const std::vector<HeldShard>& held);
  /// The process is gone: whoever reads this need not wait. Also its predecessors in the same place.
  Result<void> leave(const std::string& process);
  /// If its counter still is as it was.
  Result<void> forget(const ProcessRow& process);
  /// Empty: whoever comes first.
  Result<void> wish(std::size_t shard, const std::string& process);

 private:
  explicit OwnersTables(const PostgresOptions& options) : options_(&options) {}
  Result<std::vector<SqlRows>> run(const std::vector<Statement>& statements);

  const PostgresOptions* options_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tidemark::kv::detail
