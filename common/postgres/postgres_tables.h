// Internal to postgres_*.cpp: the tables of a store in PostgreSQL, and connections to them.
//   entries  (shard, key) -> value                 written_by: 0, or a group's number (rewritten_rows.h)
//   groups   (shard, number)                       the number of the last committed group
//   owners   shard -> epoch, owner                 the process that may write
//            lease_ms, renewals, place             lease and place of PostgresOptions; 0 once the owner has let go
//   about    format, of these tables; stamp, of the owner of their rows (PostgresOptions)
#pragma once
#include "common/postgres/postgres_connection.h"
#include "common/postgres/postgres_engine.h"

namespace tidemark::kv::detail {

inline constexpr std::chrono::milliseconds kSetupPatience{30'000};

/// Checks version() and server_version_num. kConfigInvalid if the engine cannot work with this server.
Result<void> check_version(const std::string& version, std::int64_t number);
/// Opens a connection that is ready for statements on the tables.
Result<std::unique_ptr<Connection>> connect(const PostgresOptions& options);
/// Checks the server, and returns the stamp of the tables; nothing if there are no tables.
Result<std::optional<std::string>> find_stamp(const PostgresOptions& options);
/// Checks the server and the stamp, and makes missing tables.
Result<void> prepare_tables(const PostgresOptions& options);
/// See postgres_sizes().
Result<std::vector<std::optional<StoredSize>>> sizes_of(const PostgresOptions& options, std::size_t shards);
/// Turns an error into one for the person who starts the store.
Error at_start(Error error);

}  // namespace tidemark::kv::detail
