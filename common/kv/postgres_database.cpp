#include "common/kv/postgres_database.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>

namespace tidemark::kv::detail {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::int64_t kFormat = 1;
constexpr std::int64_t kOldestServer = 130000;
constexpr std::size_t kMaxSchemaBytes = 63;
constexpr std::int64_t kErasedAtOnce = 2000;
constexpr int kMostTries = 5;
constexpr milliseconds kFirstPause{20}, kLongestPause{1000};
constexpr milliseconds kSetupPatience{30'000};

// Statements are planned once and for any parameters: every one is to go by the primary key, also while the table is
// small and when nobody has analysed it yet.
const Prepared kSession{"session", R"(SELECT set_config('search_path', $1::text, false),
  set_config('default_transaction_isolation', 'read committed', false),
  set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),
  set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),
  set_config('enable_sort', 'off', false), set_config('statement_timeout', '0', false),
  set_config('idle_in_transaction_session_timeout', '0', false),
  set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on'
                                   ELSE current_setting('synchronous_commit') END, false))"};

const Prepared kServer{"server", R"(SELECT version()::text, current_setting('server_version_num')::bigint,
  (current_setting('fsync') = 'on')::int::bigint)"};
const Prepared kIsThere{"is_there", "SELECT (to_regclass($1::text || '.about') IS NOT NULL)::int::bigint"};
const Prepared kLock{"lock",
                     "SELECT 1::bigint FROM pg_advisory_xact_lock(hashtextextended('tidemark ' || $1::text, 0))"};
const Prepared kReadFormat{"read_format", "SELECT format FROM about"};

const Prepared kClaim{"claim", R"(INSERT INTO owners AS o (shard, epoch, owner, last_group)
  VALUES ($1::bigint, 1, $2::text, 0)
  ON CONFLICT (shard) DO UPDATE SET epoch = o.epoch + 1, owner = excluded.owner, claimed_at = now()
  RETURNING epoch, last_group)"};
const Prepared kClaimAgain{"claim_again", R"(UPDATE owners SET epoch = epoch + 1, claimed_at = now()
  WHERE shard = $1::bigint AND owner = $2::text RETURNING epoch, last_group)"};
const Prepared kCheck{"check", "SELECT 1::bigint FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint"};

// One statement, so that it is one transaction and one round trip. If the epoch is another one, there is no fence, and
// nothing is written.
const Prepared kCommit{"commit", R"(WITH fence AS (
    UPDATE owners SET last_group = $3::bigint WHERE shard = $1::bigint AND epoch = $2::bigint RETURNING shard),
  gone AS (DELETE FROM entries WHERE shard = (SELECT shard FROM fence) AND key = ANY ($4::bytea[])),
  written AS (INSERT INTO entries (shard, key, value)
    SELECT fence.shard, put.key, put.value FROM fence, unnest($5::bytea[], $6::bytea[]) AS put (key, value)
    ON CONFLICT (shard, key) DO UPDATE SET value = excluded.value)
  SELECT count(*) FROM fence)"};

const Prepared kFetchKeys{"fetch_keys",
                          "SELECT key, value FROM entries WHERE shard = $1::bigint AND key = ANY ($2::bytea[])"};

#define FETCH_RANGE(range, order) \
  "SELECT key, value FROM entries WHERE shard = $1::bigint AND " range " ORDER BY key " order " LIMIT $2::bigint"
const Prepared kRange{"range", FETCH_RANGE("key >= $3::bytea AND key < $4::bytea", "ASC")};
const Prepared kRangeToEnd{"range_to_end", FETCH_RANGE("key >= $3::bytea", "ASC")};
const Prepared kReverse{"reverse", FETCH_RANGE("key >= $3::bytea AND key < $4::bytea", "DESC")};
const Prepared kReverseFromEnd{"reverse_from_end", FETCH_RANGE("key >= $3::bytea", "DESC")};
#undef FETCH_RANGE

#define ERASE_WHERE(range)                                                                               \
  "WITH fence AS (SELECT shard FROM owners WHERE shard = $1::bigint AND epoch = $2::bigint FOR SHARE), " \
  "doomed AS (SELECT key FROM entries WHERE shard = $1::bigint AND " range                               \
  " ORDER BY key LIMIT $3::bigint), "                                                                    \
  "gone AS (DELETE FROM entries WHERE shard = (SELECT shard FROM fence) AND "                            \
  "key = ANY (ARRAY(SELECT key FROM doomed))) "                                                          \
  "SELECT (SELECT count(*) FROM fence), (SELECT count(*) FROM doomed), "                                 \
  "(SELECT key FROM doomed ORDER BY key DESC LIMIT 1)"
const Prepared kErase{"erase", ERASE_WHERE("key >= $4::bytea AND key < $5::bytea")};
const Prepared kEraseToEnd{"erase_to_end", ERASE_WHERE("key >= $4::bytea")};
#undef ERASE_WHERE

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

Result<void> make_tables(Connection& connection, const std::string& schema) {
  const auto make_schema = "CREATE SCHEMA IF NOT EXISTS " + schema;
  const Prepared statements[] = {
      {"make_schema", make_schema.c_str()},
      {"make_about", "CREATE TABLE IF NOT EXISTS about (format bigint NOT NULL)"},
      {"note_format", "INSERT INTO about SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM about)"},
      {"make_owners", R"(CREATE TABLE IF NOT EXISTS owners (shard bigint PRIMARY KEY, epoch bigint NOT NULL,
        owner text NOT NULL, last_group bigint NOT NULL, claimed_at timestamptz NOT NULL DEFAULT now())
        WITH (fillfactor = 10))"},  // one row, which every commit changes: there is room for many of its versions
      {"make_entries", R"(CREATE TABLE IF NOT EXISTS entries (shard bigint NOT NULL, key bytea NOT NULL,
        value bytea NOT NULL, PRIMARY KEY (shard, key)))"},
      // The index takes keys up to a third of a page; a compressed one would fit by luck.
      {"plain_keys", "ALTER TABLE entries ALTER COLUMN key SET STORAGE PLAIN"}};
  std::vector<Statement> all = {{kLock, Parameters().bytes(schema)}};
  for (const auto& statement : statements) all.push_back({statement});
  TRY(connection.run(all, kSetupPatience));
  return {};
}

/// What a person who starts the store reads.
Error at_start(Error error) {
  if (error.code != ErrorCode::kServerBusy) return error;
  return make_error(ErrorCode::kStorageFailure, "cannot use the database: " + error.detail);
}

bool may_pass(const std::string& sqlstate) { return sqlstate == "40001" || sqlstate == "40P01"; }

Error refusal(Error error, const std::string& sqlstate) {
  constexpr std::string_view kDiskFull = "53100";
  if (sqlstate == kDiskFull) error = error_for_log(ErrorCode::kInsufficientStorage, std::move(error.detail));
  return error;
}

}  // namespace

/// Other servers that speak the protocol differ in what a transaction may do and in when it is final.
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

Statement range_statement(std::int64_t shard, const KeyRange& range, Direction direction, std::size_t limit) {
  auto parameters = Parameters().number(shard).number(static_cast<std::int64_t>(limit)).bytes(range.lower);
  if (!range.upper.empty()) parameters.bytes(range.upper);
  const auto& bounded = direction == Direction::kForward ? kRange : kReverse;
  const auto& unbounded = direction == Direction::kForward ? kRangeToEnd : kReverseFromEnd;
  return {range.upper.empty() ? unbounded : bounded, std::move(parameters)};
}

Result<void> prepare_tables(const PostgresOptions& options) {
  TRY(check_schema_name(options.schema));
  const auto prepare = [&]() -> Result<void> {
    // Which server it is comes first: another one need not understand the rest.
    const auto opened = TRY(Connection::open(options.url));
    TRY(check_server(*opened, options.durable));
    const auto connection = TRY(connect(options));
    const auto there = TRY(connection->run({kIsThere, Parameters().bytes(options.schema)}, kSetupPatience));
    if (there.number(0, 0) == 0) TRY(make_tables(*connection, options.schema));
    const auto format = TRY(connection->run({kReadFormat}, kSetupPatience));
    if (format.size() == 1 && format.number(0, 0) == kFormat) return {};
    return fail(not_usable("the tables in schema " + options.schema + " were made by another version of this program"));
  };
  auto prepared = prepare();
  if (!prepared) return fail(at_start(std::move(prepared.error())));
  return {};
}

Result<OwnedShard> OwnedShard::claim(const PostgresOptions& options) {
  const auto claim = [&]() -> Result<OwnedShard> {
    OwnedShard shard(options, TRY(connect(options)));
    const auto claimed =
        TRY(shard.connection_->run({kClaim, Parameters().number(options.shard).bytes(options.owner)}, kSetupPatience));
    shard.epoch_ = claimed.number(0, 0);
    shard.last_group_ = claimed.number(0, 1);
    return shard;
  };
  auto claimed = claim();
  if (!claimed) return fail(at_start(std::move(claimed.error())));
  return claimed;
}

Error OwnedShard::taken_over() {
  fenced_ = true;
  return make_error(ErrorCode::kServerBusy, "Another process has taken this part of the store over.");
}

Result<bool> OwnedShard::try_to_claim_again() {
  connection_ = TRY(connect(*options_));
  const auto claimed = TRY(connection_->run({kClaimAgain, Parameters().number(options_->shard).bytes(options_->owner)},
                                            options_->settle_patience));
  if (claimed.size() == 0) return false;
  epoch_ = claimed.number(0, 0);
  last_group_ = claimed.number(0, 1);
  return true;
}

Result<void> OwnedShard::claim_again() {
  const auto give_up = steady_clock::now() + options_->settle_patience;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    auto claimed = try_to_claim_again();
    if (claimed) return *claimed ? Result<void>() : fail(taken_over());
    if (steady_clock::now() + pause >= give_up) {
      unknown_ = true;
      return fail(error_for_log(ErrorCode::kOperationTimedOut, claimed.error().detail));
    }
    spdlog::warn("the database cannot be reached reason=\"{}\"", claimed.error().detail);
    std::this_thread::sleep_for(pause);
  }
}

Result<void> OwnedShard::commit(const WriteOverlay& writes) {
  std::vector<std::optional<std::string_view>> erased, keys, values;
  for (const auto& [key, value] : writes.rows()) {
    (value ? keys : erased).emplace_back(key);
    if (value) values.emplace_back(*value);
  }
  const auto group = last_group_ + 1;
  for (int tries = 1;; ++tries) {
    const Statement statement{
        kCommit,
        Parameters().number(options_->shard).number(epoch_).number(group).list(erased).list(keys).list(values)};
    const auto done = connection_->run(statement, std::nullopt);
    if (done) {
      if (done->number(0, 0) == 0) return fail(taken_over());
      last_group_ = group;
      return {};
    }
    if (!connection_->lost()) {
      if (may_pass(connection_->sqlstate()) && tries < kMostTries) continue;
      return fail(refusal(done.error(), connection_->sqlstate()));
    }
    spdlog::warn("a connection was lost while it committed reason=\"{}\"", done.error().detail);
    TRY(claim_again());
    ++settled_;
    if (last_group_ == group) return {};
  }
}

Result<void> OwnedShard::check() {
  for (;;) {
    const auto checked = connection_->run({kCheck, Parameters().number(options_->shard).number(epoch_)}, std::nullopt);
    if (checked) return checked->size() == 1 ? Result<void>() : fail(taken_over());
    if (!connection_->lost()) return fail(checked.error());
    TRY(claim_again());
  }
}

Result<void> OwnedShard::fetch(const KnownRows::Missing& missing, KnownRows& known) {
  std::vector<std::optional<std::string_view>> keys(missing.keys.begin(), missing.keys.end());
  std::vector<Statement> statements;
  statements.push_back({kFetchKeys, Parameters().number(options_->shard).list(keys)});
  for (const auto& [range, direction, limit] : missing.ranges) {
    statements.push_back(range_statement(options_->shard, range, direction, limit));
  }
  for (;;) {
    auto fetched = connection_->run(statements, std::nullopt);
    if (fetched) {
      for (const auto& key : missing.keys) known.learn(key, std::nullopt);
      const auto& found = fetched->front();
      for (std::size_t row = 0; row < found.size(); ++row) {
        known.learn(found.bytes(row, 0), std::string(found.bytes(row, 1)));
      }
      for (std::size_t i = 0; i < missing.ranges.size(); ++i) {
        const auto& of_range = (*fetched)[i + 1];
        KnownRows::Rows rows;
        for (std::size_t row = 0; row < of_range.size(); ++row) {
          rows.emplace_back(of_range.bytes(row, 0), of_range.bytes(row, 1));
        }
        known.learn(missing.ranges[i], rows);
      }
      return {};
    }
    if (!connection_->lost()) return fail(fetched.error());
    TRY(claim_again());
  }
}

Result<bool> OwnedShard::erase_some(KeyRange& range) {
  for (;;) {
    auto parameters = Parameters().number(options_->shard).number(epoch_).number(kErasedAtOnce).bytes(range.lower);
    if (!range.upper.empty()) parameters.bytes(range.upper);
    const auto erased =
        connection_->run({range.upper.empty() ? kEraseToEnd : kErase, std::move(parameters)}, std::nullopt);
    if (erased) {
      if (erased->number(0, 0) == 0) return fail(taken_over());
      const bool more = erased->number(0, 1) == kErasedAtOnce;
      if (more) range.lower = erased->bytes(0, 2);
      return more;
    }
    if (!connection_->lost()) return fail(erased.error());
    TRY(claim_again());
  }
}

}  // namespace tidemark::kv::detail
