#include "common/postgres/postgres_owners.h"

namespace tidemark::kv::detail {
namespace {

/// A renewal that takes longer does not prove that the process lives.
constexpr std::chrono::milliseconds kPatience{5'000};

const Prepared kLockShared{"lock_shared",
                           "SELECT 1::bigint FROM pg_advisory_xact_lock(hashtextextended('tidemark ' || $1::text, 0))"};
const Prepared kMakeProcesses{"make_processes", R"(CREATE TABLE IF NOT EXISTS processes (name text PRIMARY KEY,
  address text NOT NULL, renewals bigint NOT NULL, place text NOT NULL) WITH (fillfactor = 50))"};
const Prepared kMakeWishes{"make_wishes",
                           "CREATE TABLE IF NOT EXISTS wishes (shard bigint PRIMARY KEY, process text NOT NULL)"};
const Prepared kMakeOwners{"make_all_owners", R"(INSERT INTO owners (shard, epoch, owner, place)
  SELECT shard, 0, '', '' FROM generate_series(0::bigint, $1::bigint - 1) AS all_of (shard)
  ON CONFLICT (shard) DO NOTHING)"};

const Prepared kReadOwners{"read_owners", R"(SELECT owners.epoch, owners.renewals, owners.lease_ms,
  (owners.place <> '' AND owners.place = $1::text)::int::bigint, split_part(owners.owner, '#', 1),
  coalesce(wishes.process, '') FROM owners LEFT JOIN wishes ON wishes.shard = owners.shard
  WHERE owners.shard >= 0 ORDER BY owners.shard)"};
const Prepared kReadProcesses{"read_processes", "SELECT name, address, renewals FROM processes ORDER BY name"};

const Prepared kRenewAll{"renew_all", R"(UPDATE owners SET renewals = renewals + 1
  FROM unnest(string_to_array($1::text, ',')::bigint[], string_to_array($2::text, ',')::bigint[]) AS held (shard, epoch)
  WHERE owners.shard = held.shard AND owners.epoch = held.epoch RETURNING owners.shard)"};
const Prepared kRenewProcess{"renew_process", R"(INSERT INTO processes (name, address, renewals, place)
  VALUES ($1::text, $2::text, 0, $3::text)
  ON CONFLICT (name) DO UPDATE SET renewals = processes.renewals + 1, address = excluded.address)"};
const Prepared kLeave{"leave", "DELETE FROM processes WHERE name = $1::text OR (place <> '' AND place = $2::text)"};
const Prepared kForget{"forget", "DELETE FROM processes WHERE name = $1::text AND renewals = $2::bigint"};
const Prepared kWish{"wish", R"(INSERT INTO wishes (shard, process) VALUES ($1::bigint, $2::text)
  ON CONFLICT (shard) DO UPDATE SET process = excluded.process)"};
const Prepared kNoWish{"no_wish", "DELETE FROM wishes WHERE shard = $1::bigint"};

}  // namespace

Result<OwnersTables> OwnersTables::open(const PostgresOptions& options, std::size_t shards) {
  OwnersTables tables(options);
  const std::vector<Statement> make{{kLockShared, Parameters().bytes(options.schema)},
                                    {kMakeProcesses},
                                    {kMakeWishes},
                                    {kMakeOwners, Parameters().number(static_cast<std::int64_t>(shards))}};
  auto made = tables.run(make);
  if (!made) return fail(at_start(std::move(made.error())));
  return tables;
}

Result<std::vector<SqlRows>> OwnersTables::run(const std::vector<Statement>& statements) {
  if (!connection_ || connection_->lost()) connection_ = TRY(connect(*options_));
  return connection_->run(statements, kPatience);
}

Result<shards::OwnersTable> OwnersTables::read() {
  const auto rows = TRY(run({{kReadOwners, Parameters().bytes(options_->place)}, {kReadProcesses}}));
  shards::OwnersTable table;
  for (std::size_t row = 0; row < rows[0].size(); ++row) {
    const auto& owner = rows[0];
    table.shards.push_back({.seen = {owner.number(row, 0), owner.number(row, 1)},
                            .process = std::string(owner.bytes(row, 4)),
                            .released = owner.number(row, 2) == 0,
                            .ended = owner.number(row, 3) != 0,
                            .wish = std::string(owner.bytes(row, 5))});
  }
  for (std::size_t row = 0; row < rows[1].size(); ++row) {
    const auto& process = rows[1];
    table.processes.push_back(
        {std::string(process.bytes(row, 0)), std::string(process.bytes(row, 1)), process.number(row, 2)});
  }
  return table;
}

Result<std::vector<std::size_t>> OwnersTables::renew(const shards::ProcessRow& me, const std::vector<HeldShard>& held) {
  std::string shards, epochs;
  for (const auto& [shard, epoch] : held) {
    const auto* const comma = shards.empty() ? "" : ",";
    shards += comma + std::to_string(shard);
    epochs += comma + std::to_string(epoch);
  }
  const auto rows = TRY(run({{kRenewAll, Parameters().bytes(shards).bytes(epochs)},
                             {kRenewProcess, Parameters().bytes(me.name).bytes(me.address).bytes(options_->place)}}));
  std::vector<std::size_t> renewed;
  for (std::size_t row = 0; row < rows[0].size(); ++row) {
    renewed.push_back(static_cast<std::size_t>(rows[0].number(row, 0)));
  }
  return renewed;
}

Result<void> OwnersTables::leave(const std::string& process) {
  TRY(run({{kLeave, Parameters().bytes(process).bytes(options_->place)}}));
  return {};
}

Result<void> OwnersTables::forget(const shards::ProcessRow& process) {
  TRY(run({{kForget, Parameters().bytes(process.name).number(process.renewals)}}));
  return {};
}

Result<void> OwnersTables::wish(std::size_t shard, const std::string& process) {
  const auto number = static_cast<std::int64_t>(shard);
  if (process.empty()) {
    TRY(run({{kNoWish, Parameters().number(number)}}));
  } else {
    TRY(run({{kWish, Parameters().number(number).bytes(process)}}));
  }
  return {};
}

}  // namespace tidemark::kv::detail
