#include "common/service/store_settings.h"

#include "common/http/server.h"
#include "common/process/private_file.h"
#include "common/service/store_process.h"

namespace tidemark::service {
namespace {

void declare_place(process::Settings& settings, StoreSettings& s) {
  settings.add("host", s.host, "address to listen on");
  settings.add("port", s.port, 0, 65535, "port to listen on; 0 takes any free one, which the ready line names");
  settings.add("data", s.data, "data directory of the whole stack; each database has a folder in it");
  settings.add(
      "accounts", s.accounts,
      "name:base64key[:base64key2] [tables=N] [table_bytes=10GiB] ..., separated by commas; empty: the well-known "
      "development account",
      true);
  settings.add("accounts_file", s.accounts_file,
               "file with the accounts instead, one on a line; SIGHUP reads it again");
  settings.add("token", s.token,
               "bearer token that /metrics needs beyond loopback; empty: the one in DATA/run/token, made if absent",
               true);
  settings.add("allowed_hosts", s.allowed_hosts,
               "names for accounts with the development key, beside addresses, localhost and names without a dot: "
               "name,name");
  settings.add("threads", s.threads, 1, 64,
               "I/O threads; at most half of them, but at least one, scan tables at a time");
}

void declare_bounds(process::Settings& settings, StoreSettings& s, const std::string& unit) {
  settings.add(
      "max_connections", s.max_connections, 1, 100000,
      "open connections; for more, the one that has been idle longest is closed, or else 503 ServerBusy is the "
      "answer");
  settings.add("max_connections_of_address", s.max_connections_of_address, 1, 100000,
               "open connections from one address; more are answered with 503 ServerBusy");
  declare(settings, s.of_address);
  declare(settings, s.of_account);
  settings.add(
      "service_targets", s.service_targets,
      "refuse what is beyond the service's own targets, so that clients can be tested against them: 20,000 "
      "entities or messages per second and account (blobs: requests), 2,000 per partition of a table or queue");
  settings.add("max_body_memory_mib", s.max_body_memory_mib, 16, 1048576,
               "memory for the bodies of all requests in progress; beyond it, 503 ServerBusy is the answer");
  settings.add("slowest_bytes_per_s", s.slowest_bytes_per_s, 1, 1000000000,
               "a client that sends its body or takes its answer more slowly is disconnected after a minute");
  settings.add(
      "max_internal_calls", s.max_internal_calls, 1, 100000,
      "calls of workers and the api at once, including long polls; beyond that, callers are told to slow down");
  settings.add("idle_timeout_s", s.idle_timeout_s, 1, 3600, "time after which an idle connection is closed");
  settings.add("shutdown_grace_s", s.shutdown_grace_s, 0, 600, "time for requests in progress to finish after SIGTERM");
  declare(settings, s.quotas, unit);
}

void declare_storage(process::Settings& settings, StoreSettings& s) {
  settings.add_choice("durability", s.durability, {"fsync", "os"},
                      "fsync: acknowledged writes survive a power cut; os: they survive only a crash of the process");
  settings.add_choice("engine", s.engine, {"rocksdb", "postgres"},
                      "where the rows are kept: in files of the data directory, or in the PostgreSQL database that "
                      "the setting database names. Chosen once: rows do not move from one to the other");
  settings.add("database", s.database,
               "for engine postgres: the connection string, postgresql://user:password@host/name or host=... "
               "dbname=...; the tables are in the schema tidemark_table, tidemark_queue or tidemark_blob",
               true);
  settings.add("database_snapshots", s.database_snapshots, 2, 1000,
               "for engine postgres: connections that queries, listings and checks may hold at once; beyond that, 503 "
               "ServerBusy is the answer");
  settings.add("shards", s.shards, 0, shards::kMaxShards,
               "over how many shards a new store divides its rows, each with a writer and a log of its own; 0: over "
               "one, or as many as its data has. The number never changes");
  settings.add("share_shards", s.share_shards,
               "for engine postgres: serve a part of the shards of the database, and leave the others to other "
               "processes of this store, each with a data directory of its own, which do the same");
  settings.add("peer_address", s.peer_address,
               "with share_shards: where those reach this process, tcp://HOST:PORT; empty: internal_address, or, "
               "without that, the socket in DATA/run, which is for processes on this machine");
  settings.add("min_free_mib", s.min_free_mib, 0, 1048576,
               "free space on the disk below which writes are refused, with 507 InsufficientStorage; reads go on");
  settings.add("block_cache_mib", s.block_cache_mib, 1, 65536,
               "memory for what is read from the database: cached blocks, and in a quarter of it, rows that were read "
               "a moment ago; "
               "with engine postgres, the rows that the writer knows");
  settings.add(
      "operation_retention_h", s.operation_retention_h, 24, 87600,
      "how long the ledger of an operation is kept after its last change; must exceed the lifetime of the messages "
      "that ask for it");
}

void declare_trust(process::Settings& settings, StoreSettings& s) {
  settings.add("sas_longest_h", s.sas_longest_h, 1, 8760,
               "how long a shared access signature may last that this store signs for the api");
  settings.add("check_clock_skew", s.check_clock_skew, "refuse signatures whose date is more than 15 minutes off");
  settings.add("allow_development_key", s.allow_development_key,
               "allow the well-known development key when listening beyond loopback");
  settings.add(
      "trust_forwarded_proto", s.trust_forwarded_proto,
      "trust the X-Forwarded-Proto of a TLS terminator in front, which a SAS with spr=https needs; only if nobody "
      "else can reach this address");
}

Result<void> check_key_safety(const StoreSettings& settings, const std::vector<auth::Account>& accounts) {
  const auto loopback = TRY(http::is_loopback(settings.host));
  if (loopback || settings.allow_development_key) return {};
  const auto development = auth::development_account();
  for (const auto& account : accounts) {
    for (const auto& key : account.keys) {
      if (key != development.keys[0]) continue;
      return fail(ErrorCode::kConfigInvalid,
                  "refusing to listen on " + settings.host +
                      " with the well-known development key: configure accounts "
                      "with keys of your own, or set allow_development_key if strangers cannot reach this address");
    }
  }
  return {};
}

}  // namespace

void declare(process::Settings& settings, StoreSettings& values, const std::string& unit) {
  declare_place(settings, values);
  declare_bounds(settings, values, unit);
  declare_storage(settings, values);
  declare_trust(settings, values);
  declare(settings, values.tls);
  declare(settings, values.tokens);
  declare(settings, values.listen);
  declare(settings, values.usage);
  tracing::declare(settings, values.tracing);
  analytics::declare(settings, values.analytics);
  declare(settings, values.scrub);
  settings.add("fsck", values.fsck,
               "check what is stored instead of serving it, and print what is wrong as JSON, one finding a line; the "
               "exit code is 1 if anything is (see tidemark fsck)");
  process::declare(settings, values.log);
}

Result<std::vector<auth::Account>> load_accounts(const StoreSettings& settings) {
  if (!settings.accounts.empty() && !settings.accounts_file.empty()) {
    return fail(ErrorCode::kConfigInvalid, "accounts and accounts_file exclude each other: remove one of them");
  }
  auto accounts =
      settings.accounts_file.empty()
          ? TRY(parse_accounts(settings.accounts))
          : TRY(parse_accounts_file(TRY(process::read_private_file("accounts_file", settings.accounts_file))));
  TRY(check_key_safety(settings, accounts));
  return accounts;
}

}  // namespace tidemark::service
