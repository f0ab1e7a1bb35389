#include "common/postgres/postgres_tables.h"

#include <algorithm>

#include "common/base/log.h"

namespace tidemark::kv::detail {
namespace {

constexpr std::int64_t kFormat = 2;
constexpr std::int64_t kOldestServer = 130000;
constexpr std::size_t kMaxSchemaBytes = 63;

// Statements are planned once, for any parameters. Each must use the primary key, even while the table is small or was
// never analysed.
const Prepared kSession{"session", R"(SELECT set_config('search_path', $1::text, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
  set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('enable_sort', 'off', false), set_config('statement_timeout', '0', false),
  set_config('lock_timeout', '0', false), set_config('idle_in_transaction_session_timeout', '0', false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                                   ELSE current_setting('synchronous_commit') END, false))"};

const Prepared kServer{"server", R"(SELECT version()::text, current_setting('server_version_num')::bigint,
  (current_setting('fsync') = 'on')::int::bigint)"};
const Prepared kIsThere{"is_there", "SELECT (to_regclass($1::text || '.about') IS NOT NULL)::int::bigint"};
const Prepared kLock{"lock",
                     "SELECT 1::bigint FROM pg_advisory_xact_lock(hashtextextended('tidemark ' || $1::text, 0))"};
const char* const kMakeGroups =
    "CREATE TABLE IF NOT EXISTS groups (shard bigint NOT NULL, number bigint NOT NULL, PRIMARY KEY (shard, number))";
const char* const kMakeRewritten = "CREATE INDEX IF NOT EXISTS rewritten ON entries (shard) WHERE written_by <> 0";
const Prepared kBeginRenewal{"begin_renewal", "BEGIN"};
const Prepared kReadAbout{"read_about", "SELECT format, stamp FROM about"};
const Prepared kNoteAbout{"note_about",
                          "INSERT INTO about SELECT $1::bigint, $2::text WHERE NOT EXISTS (SELECT FROM about)"};

// Growth of the table since it was analysed counts like its other rows.
const Prepared kSizes{"sizes", R"(WITH whole AS (
    SELECT reltuples::float8 * pg_relation_size(oid) / (greatest(relpages, 1) * current_setting('block_size')::float8) AS rows,
      pg_total_relation_size(oid)::float8 AS bytes
    FROM pg_class WHERE oid = 'entries'::regclass AND reltuples > 0),
  parts AS (
    SELECT most_common_vals::text::bigint[] AS shards, most_common_freqs::float8[] AS freqs FROM pg_stats
    WHERE schemaname = current_schema() AND tablename = 'entries' AND attname = 'shard')
  SELECT shard, (rows * part)::bigint, (bytes * part)::bigint FROM whole, parts, unnest(shards, freqs) AS each (shard, part))"};
constexpr std::chrono::milliseconds kSizesPatience{2'000};

Error not_usable(std::string message) { return make_error(ErrorCode::kConfigInvalid, std::move(message)); }

Result<void> check_schema_name(const std::string& schema) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  if (schema.empty() || schema.size() > kMaxSchemaBytes || !std::ranges::all_of(schema, fits) ||
      (schema.front() >= '0' && schema.front() <= '9')) {
    return fail(not_usable("a schema's name has up to 63 small letters, digits and _: \"" + schema + "\""));
  }
  return {};
}

Result<void> check_server(Connection& connection, bool durable) {
  const auto server = TRY(connection.run({kServer}, kSetupPatience));
  TRY(check_version(std::string(server.bytes(0, 0)), server.number(0, 1)));
  if (durable && server.number(0, 2) == 0) {
    return fail(
        not_usable("the server runs with fsync = off and would lose acknowledged writes: turn fsync on, or set "
                   "durability to os"));
  }
  return {};
}

Result<void> make_tables(Connection& connection, const PostgresOptions& options) {
  const auto make_schema = "CREATE SCHEMA IF NOT EXISTS " + options.schema;
  const Prepared statements[] = {
      {"make_schema", make_schema.c_str()},
      {"make_about", "CREATE TABLE IF NOT EXISTS about (format bigint NOT NULL, stamp text NOT NULL)"},
      {"make_owners", R"(CREATE TABLE IF NOT EXISTS owners (shard bigint PRIMARY KEY, epoch bigint NOT NULL,
        owner text NOT NULL, renewals bigint NOT NULL DEFAULT 0, lease_ms bigint NOT NULL DEFAULT 0,
        place text NOT NULL, claimed_at timestamptz NOT NULL DEFAULT now())
        WITH (fillfactor = 10))"},  // each renewal changes a row: there is room for many versions of it
      {"make_entries", R"(CREATE TABLE IF NOT EXISTS entries (shard bigint NOT NULL, key bytea NOT NULL,
        written_by bigint NOT NULL DEFAULT 0, value bytea NOT NULL, PRIMARY KEY (shard, key, written_by))
        WITH (fillfactor = 75))"},  // a replaced row stays on its page, so the index need not be written
      {"make_groups", kMakeGroups},
      {"make_rewritten", kMakeRewritten},
      // The index takes keys up to a third of a page; a compressed key would fit only by luck.
      {"plain_keys", "ALTER TABLE entries ALTER COLUMN key SET STORAGE PLAIN"}};
  std::vector<Statement> all = {{kLock, Parameters().bytes(options.schema)}};
  for (const auto& statement : statements) all.push_back({statement});
  all.push_back({kNoteAbout, Parameters().number(kFormat).bytes(options.stamp)});
  TRY(connection.run(all, kSetupPatience));
  return {};
}

struct About {
  std::int64_t format = 0;
  std::string stamp;
};

Result<std::optional<About>> read_about(Connection& connection, const std::string& schema) {
  const auto there = TRY(connection.run({kIsThere, Parameters().bytes(schema)}, kSetupPatience));
  if (there.number(0, 0) == 0) return std::nullopt;
  const auto about = TRY(connection.run({kReadAbout}, kSetupPatience));
  if (about.size() == 1 && about.number(0, 0) >= 1 && about.number(0, 0) <= kFormat) {
    return About{about.number(0, 0), std::string(about.bytes(0, 1))};
  }
  return fail(not_usable("the tables in schema " + schema + " were made by another version of this program"));
}

/// Converts tables of format 1, which had the last group in the owners' rows, and updated every row in place. One
/// process converts them; the others wait for it. If the connection breaks before the commit, nothing has changed.
Result<void> renew_tables(Connection& connection, const PostgresOptions& options) {
  const Prepared statements[] = {
      {"more_entries", "ALTER TABLE entries ADD COLUMN IF NOT EXISTS written_by bigint NOT NULL DEFAULT 0"},
      {"old_key", "ALTER TABLE entries DROP CONSTRAINT IF EXISTS entries_pkey"},
      {"new_key", "ALTER TABLE entries ADD PRIMARY KEY (shard, key, written_by)"},
      {"make_groups", kMakeGroups},
      {"make_rewritten", kMakeRewritten},
      {"less_owners", "ALTER TABLE owners DROP COLUMN IF EXISTS last_group"},
      {"new_format", "UPDATE about SET format = 2"},
      {"end_renewal", "COMMIT"}};
  const Statement alone[] = {{kBeginRenewal}, {kLock, Parameters().bytes(options.schema)}};
  TRY(connection.run(alone, std::nullopt));
  const auto about = TRY(read_about(connection, options.schema));
  if (about && about->format == kFormat) return {};
  std::vector<Statement> all;
  for (const auto& statement : statements) all.push_back({statement});
  log_info("makes the tables of schema {} anew for this version, which takes a while if they are large",
           options.schema);
  TRY(connection.run(all, std::nullopt));
  return {};
}

/// Checks first which server it is, because another one need not understand the other statements.
Result<std::unique_ptr<Connection>> connect_first(const PostgresOptions& options) {
  TRY(check_schema_name(options.schema));
  const auto opened = TRY(Connection::open(options.url));
  TRY(check_server(*opened, options.durable));
  return connect(options);
}

}  // namespace

Error at_start(Error error) {
  if (error.code != ErrorCode::kServerBusy) return error;
  return make_error(ErrorCode::kStorageFailure, "cannot use the database: " + error.detail);
}

/// Other servers that speak the protocol have other rules for transactions, and for when they are final.
Result<void> check_version(const std::string& version, std::int64_t number) {
  std::string name = '"' + version + '"';
  if (version.starts_with("CockroachDB")) name = "CockroachDB";
  if (version.find("-YB-") != std::string::npos) name = "YugabyteDB";
  const bool other = name.front() != '"' || !version.starts_with("PostgreSQL ");
  if (!other && number >= kOldestServer) return {};
  return fail(not_usable("the server is " + name + ", but engine postgres needs PostgreSQL 13 or later"));
}

Result<std::unique_ptr<Connection>> connect(const PostgresOptions& options) {
  auto connection = TRY(Connection::open(options.url));
  TRY(connection->run({kSession, Parameters().bytes(options.schema)}, kSetupPatience));
  return connection;
}

Result<std::optional<std::string>> find_stamp(const PostgresOptions& options) {
  const auto find = [&]() -> Result<std::optional<std::string>> {
    const auto connection = TRY(connect_first(options));
    const auto about = TRY(read_about(*connection, options.schema));
    return about ? std::optional(about->stamp) : std::nullopt;
  };
  auto found = find();
  if (!found) return fail(at_start(std::move(found.error())));
  return found;
}

Result<std::vector<std::optional<StoredSize>>> sizes_of(const PostgresOptions& options, std::size_t shards) {
  const auto connection = TRY(connect(options));
  const auto rows = TRY(connection->run({kSizes}, kSizesPatience));
  std::vector<std::optional<StoredSize>> sizes(shards);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const auto shard = static_cast<std::size_t>(rows.number(row, 0));
    if (shard >= shards) continue;
    sizes[shard] = {static_cast<std::uint64_t>(rows.number(row, 1)), static_cast<std::uint64_t>(rows.number(row, 2))};
  }
  return sizes;
}

Result<void> prepare_tables(const PostgresOptions& options) {
  const auto prepare = [&]() -> Result<void> {
    const auto connection = TRY(connect_first(options));
    auto about = TRY(read_about(*connection, options.schema));
    if (!about) {
      TRY(make_tables(*connection, options));
      about = TRY(read_about(*connection, options.schema));
    }
    if (!about || about->stamp != options.stamp) {
      return fail(not_usable("the tables in schema " + options.schema + " have the rows of somebody else"));
    }
    return about->format < kFormat ? renew_tables(*connection, options) : Result<void>();
  };
  auto prepared = prepare();
  if (!prepared) return fail(at_start(std::move(prepared.error())));
  return {};
}

}  // namespace tidemark::kv::detail
