// Internal to postgres_*.cpp: the tables of a store in PostgreSQL, and connections to them.
//   entries  (shard, key) -> value                 written_by: 0, or a group's number (rewritten_rows.h)
//   groups   (shard, number)                       of the group that was committed last
//   owners   shard -> epoch, owner                 who may write
//            lease_ms, renewals, place             lease and place of PostgresOptions; 0 once the owner has let go
//   about    format: of these tables; stamp: whose rows they have (PostgresOptions)
#pragma once
#include "common/kv/postgres_connection.h"
#include "common/kv/postgres_engine.h"

namespace tidemark::kv::detail {

inline constexpr std::chrono::milliseconds kSetupPatience{30'000};

/// Which server it is: version() and server_version_num. kConfigInvalid if the engine cannot work with it.
Result<void> check_version(const std::string& version, std::int64_t number);
/// A connection that is ready for statements on the tables.
Result<std::unique_ptr<Connection>> connect(const PostgresOptions& options);
/// Checks the server. The stamp of the tables; nothing if they are not there.
Result<std::optional<std::string>> find_stamp(const PostgresOptions& options);
/// Checks the server and the stamp, and makes what is not there.
Result<void> prepare_tables(const PostgresOptions& options);
/// See postgres_sizes().
Result<std::vector<std::optional<StoredSize>>> sizes_of(const PostgresOptions& options, std::size_t shards);
/// What a person who starts the store reads.
Error at_start(Error error);

}  // namespace tidemark::kv::detail
