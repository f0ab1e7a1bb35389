// Internal to postgres_*.cpp and shard_owners.cpp: the tables by which processes share the shards of a database. Beside
// those of postgres_tables.h:
//   processes  name -> address, renewals, place    a row for each living process; place as in owners
//   wishes     shard -> process                    the process that should get the shard
// The process of an owner is the part of its name before '#'. One thread at a time. Errors: the database cannot be
// reached; the next call connects again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "common/postgres/postgres_tables.h"
#include "common/shards/shard_claims.h"

namespace tidemark::kv::detail {

/// A shard of this process, and the epoch under which the process has it.
struct HeldShard {
  std::size_t shard = 0;
  std::int64_t epoch = 0;
};

class OwnersTables {
 public:
  /// Makes missing tables. `options` must outlive this object, and their own tables must be prepared.
  static Result<OwnersTables> open(const PostgresOptions& options, std::size_t shards);

  Result<shards::OwnersTable> read();
  /// Raises the counters of the process and of its shards, in one transaction. Returns the shards that it still owns.
  Result<std::vector<std::size_t>> renew(const shards::ProcessRow& me, const std::vector<HeldShard>& held);
  /// Removes the process and its predecessors in the same place, so that others need not wait for it.
  Result<void> leave(const std::string& process);
  /// Removes the process if its counter is unchanged.
  Result<void> forget(const shards::ProcessRow& process);
  /// Empty: any process may have the shard.
  Result<void> wish(std::size_t shard, const std::string& process);

 private:
  explicit OwnersTables(const PostgresOptions& options) : options_(&options) {}
  Result<std::vector<SqlRows>> run(const std::vector<Statement>& statements);

  const PostgresOptions* options_;
  std::unique_ptr<Connection> connection_;
};

}  // namespace tidemark::kv::detail
