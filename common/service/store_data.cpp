#include "common/service/store_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/random.h"
#include "common/base/small_file.h"
#include "common/base/text.h"
#include "common/kv/rocksdb_engine.h"
#include "common/postgres/postgres_engine.h"
#include "common/process/private_file.h"
#include "common/process/process.h"
#include "common/process/unique_name.h"
#include "common/service/data_stamp.h"
#include "common/service/engine_metrics.h"
#include "common/service/shard_figures.h"

namespace tidemark::service {
namespace {

/// How long rows may be answered from memory after the database last confirmed their owner; docs/scale.md.
constexpr std::chrono::seconds kLease{6};
constexpr std::size_t kMaxBootIdBytes = 64;
constexpr std::size_t kLeastWriteBufferBytes = 4UL << 20;
constexpr std::size_t kLeastSnapshots = 4;
constexpr std::size_t kShareOfRecentRows = 4;  // a quarter of the memory is for rows read lately

/// Shards share the memory that one store would have.
kv::RocksDbOptions files_options(const StoreSettings& settings, const std::filesystem::path& folder,
                                 const StoreDescription& description, std::size_t shard, std::size_t shards) {
  kv::RocksDbOptions options{.path = shards::shard_folder(folder, shard, shards)};
  options.durability = settings.durability == "fsync" ? kv::Durability::kFsync : kv::Durability::kOs;
  const auto cache_bytes = (static_cast<std::size_t>(settings.block_cache_mib) << 20) / shards;
  options.recent_rows_bytes = cache_bytes / kShareOfRecentRows;
  options.block_cache_bytes = cache_bytes - options.recent_rows_bytes;
  options.write_buffer_bytes = std::max(description.rows.write_buffer_bytes / shards, kLeastWriteBufferBytes);
  options.write_buffers = description.rows.write_buffers;
  options.apart_from_bytes = description.rows.apart_from_bytes;
  return options;
}

/// Identifies this directory on this machine since it was started: the pid file shows that the process that had the
/// rows here has ended.
std::string place_of(const std::filesystem::path& data) {
  struct stat found{};
  const auto boot = read_small_file("/proc/sys/kernel/random/boot_id", kMaxBootIdBytes);
  if (!boot || ::stat(data.c_str(), &found) != 0) return {};
  return fmt::format("{}:{}:{}", trimmed(*boot), found.st_dev, found.st_ino);
}

kv::PostgresOptions database_options(const StoreSettings& settings, const std::filesystem::path& data,
                                     const StoreDescription& description) {
  kv::PostgresOptions options;
  options.url = settings.database;
  options.schema = "tidemark_" + description.folder;
  options.owner = process::unique_name(description.process_name) + "-" + make_system_random()->guid();
  options.lease = kLease;
  options.place = place_of(data);
  options.durable = settings.durability == "fsync";
  options.known_bytes = static_cast<std::size_t>(settings.block_cache_mib) << 20;
  options.max_snapshots = static_cast<std::size_t>(settings.database_snapshots);
  return options;
}

Result<void> check_database_settings(const StoreSettings& settings) {
  if (in_database(settings) == !settings.database.empty()) return {};
  return fail(ErrorCode::kConfigInvalid,
              in_database(settings) ? "engine postgres needs the setting database: the connection string of a database"
                                    : "database is set, but engine is rocksdb: set engine to postgres, or remove it");
}

/// Checks that a folder without a stamp is empty. `setting`: the setting with which the store would not see its data.
Result<void> check_unused(const std::filesystem::path& folder, std::string_view setting) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder, unknown) || std::filesystem::is_empty(folder, unknown)) return {};
  return fail(
      ErrorCode::kConfigInvalid,
      fmt::format("{} has data from an older version, which a store with {} would not see: remove that setting, "
                  "or begin with an empty directory",
                  folder.string(), setting));
}

/// Only the stamp tells which rows are on which shard.
Result<void> check_not_divided(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::filesystem::exists(shards::shard_folder(folder, 0, 2), unknown)) return {};
  return fail(ErrorCode::kCorruption, fmt::format("The rows in {} are divided over shards, and its file {} is missing. "
                                                  "Put it back from a backup.",
                                                  folder.string(), kStampName));
}

StampOf expected_stamp(const StoreSettings& settings, const StoreDescription& description) {
  return {description.folder, description.format, settings.engine, static_cast<std::size_t>(settings.shards)};
}

Result<void> check_shards(const StoreSettings& settings, const StoreDescription& description) {
  if (static_cast<std::size_t>(settings.shards) <= description.max_shards) return {};
  return fail(ErrorCode::kConfigInvalid,
              fmt::format("{} takes at most shards={}, and the setting says {}", description.process_name,
                          description.max_shards, settings.shards));
}

Result<void> check_sharing(const StoreSettings& settings, const StoreDescription& description) {
  if (!settings.share_shards) {
    if (settings.peer_address.empty()) return {};
    return fail(ErrorCode::kConfigInvalid, "peer_address is set, but share_shards is not: set that, or remove it");
  }
  if (!description.shares) {
    return fail(ErrorCode::kConfigInvalid,
                description.process_name + " cannot share its shards with other processes yet: remove share_shards");
  }
  if (!settings.peer_address.empty() && settings.listen.address.empty()) {
    return fail(ErrorCode::kConfigInvalid,
                "peer_address needs internal_address and its keys, since that is where other machines arrive");
  }
  if (in_database(settings)) return {};
  return fail(ErrorCode::kConfigInvalid,
              "share_shards needs engine postgres: files of a data directory are for one process");
}

DataIdentity identity_of(const StoreDescription& description, const FolderStamp& stamp) {
  return {description.folder, description.format, stamp.owner};
}

std::uint64_t transactions_of(const kv::RocksDbEngine& engine) { return engine.figures().waits_us.values(); }
std::uint64_t transactions_of(const kv::PostgresEngine& engine) { return engine.figures().transactions; }

template <class Engine>
std::vector<std::uint64_t> transactions_of(const std::vector<const Engine*>& engines) {
  std::vector<std::uint64_t> each;
  for (const auto* engine : engines) each.push_back(transactions_of(*engine));
  return each;
}

std::vector<std::uint64_t> transactions_of(const kv::ShardOwners& owners) {
  std::vector<std::uint64_t> each;
  for (const auto& shard : owners.show()) each.push_back(shard.engine ? transactions_of(*shard.engine) : 0);
  return each;
}

/// Counts sizes by engine, which PostgreSQL does not report.
void count_sizes(StoreData& stored, const std::vector<const kv::RocksDbEngine*>& engines) {
  stored.counts.sizes = [engines]() -> ShardCounts::Sizes {
    std::vector<std::optional<kv::StoredSize>> sizes;
    for (const auto* engine : engines) sizes.emplace_back(engine->size());
    return sizes;
  };
}
void count_sizes(StoreData&, const std::vector<const kv::PostgresEngine*>&) {}

template <class Engine>
std::vector<prometheus::MetricFamily> figures_of(const std::vector<const Engine*>& engines) {
  std::vector<std::vector<prometheus::MetricFamily>> each;
  for (const auto* engine : engines) each.push_back(engine_figures(*engine));
  return by_shard(std::move(each));
}

/// Makes a shard for each engine that `open` returns.
template <class Open>
Result<void> open_shards(StoreData& stored, const shards::Placement& placement, Open open) {
  using Engine = typename std::invoke_result_t<Open&, std::size_t>::value_type::element_type;
  std::vector<std::unique_ptr<kv::StoredEngine>> engines;
  std::vector<const Engine*> seen;
  for (std::size_t shard = 0; shard < placement.shards(); ++shard) {
    auto engine = TRY(open(shard));
    seen.push_back(engine.get());
    engines.push_back(std::move(engine));
  }
  stored.shards = shards::StoredShards(std::move(engines), placement);
  count_sizes(stored, seen);
  stored.counts.transactions = [seen] { return transactions_of(seen); };
  stored.figures = [seen = std::move(seen)] { return figures_of(seen); };
  return {};
}

Result<StoreData> open_in_files(const StoreSettings& settings, const std::filesystem::path& data,
                                const StoreDescription& description) {
  const auto expected = expected_stamp(settings, description);
  const auto stamp = TRY(check_folder(data, expected));
  const auto folder = data / description.folder;
  const auto shards = stamp.placement.shards();
  const bool divided = shards > 1;
  if (!stamp.stamped && divided) TRY(check_unused(folder, "several shards"));
  if (!stamp.stamped && !divided) TRY(check_not_divided(folder));
  TRY(process::prepare_directory(folder));
  // The placement of rows on shards depends on the stamp, so it is written first.
  if (!stamp.stamped && divided) TRY(stamp_folder(data, expected, stamp));
  StoreData stored{.shards = {}, .identity = identity_of(description, stamp)};
  TRY(open_shards(stored, stamp.placement, [&](std::size_t shard) {
    return kv::open_rocksdb(files_options(settings, folder, description, shard, shards));
  }));
  stored.process = process::unique_name(description.process_name);
  if (!stamp.stamped && !divided) {
    if (description.check_unstamped) TRY(description.check_unstamped(stored.shards.catalogue()));
    TRY(stamp_folder(data, expected, stamp));
  }
  return stored;
}

/// Opens no shards: they are claimed later, when other processes can reach this one.
Result<void> open_shared(StoreData& stored, const kv::PostgresOptions& options, const shards::Placement& placement) {
  const auto process = options.owner;
  stored.owners = TRY(kv::ShardOwners::open(options, process, placement.shards()));
  std::vector<std::unique_ptr<kv::StoredEngine>> engines;
  for (auto& engine : stored.owners->make_engines()) engines.push_back(std::move(engine));
  stored.shards = shards::StoredShards(std::move(engines), placement);
  stored.counts.transactions = [&owners = *stored.owners] { return transactions_of(owners); };
  stored.figures = [&owners = *stored.owners] { return shard_figures(owners); };
  return {};
}

/// The database names the owner of its rows, and the folder that of its files; both must be the same stack.
Result<StoreData> open_in_database(const StoreSettings& settings, const std::filesystem::path& data,
                                   const StoreDescription& description) {
  auto options = database_options(settings, data, description);
  const auto where = "the schema " + options.schema + " of the database";
  const auto expected = expected_stamp(settings, description);
  const auto text = TRY(kv::postgres_stamp(options));
  const auto kept = text ? std::optional(TRY(check_stamp(*text, where, expected))) : std::nullopt;
  const auto stamp = TRY(check_folder(data, expected, true, kept));
  if (kept && kept->owner != stamp.owner) {
    return fail(ErrorCode::kConfigInvalid, where + " has the rows of the stack " + kept->owner + ", and " +
                                               data.string() + " belongs to the stack " + stamp.owner +
                                               ": name another database, or the directory that belongs to this one");
  }
  const auto folder = data / description.folder;
  if (!stamp.stamped) TRY(check_unused(folder, "engine postgres"));
  TRY(process::prepare_directory(folder));
  options.stamp = make_stamp(expected, stamp);
  const auto& placement = kept ? kept->placement : stamp.placement;
  options.known_bytes /= placement.shards();
  options.max_snapshots = std::max(options.max_snapshots / placement.shards(), kLeastSnapshots);
  StoreData stored{.shards = {}, .identity = identity_of(description, stamp)};
  if (settings.share_shards) {
    TRY(open_shared(stored, options, placement));
    if (description.check_shared) TRY(description.check_shared(*stored.shards.catalogue().snapshot()));
  } else {
    TRY(open_shards(stored, placement, [&options](std::size_t shard) {
      options.shard = static_cast<std::int64_t>(shard);
      return kv::open_postgres(options);
    }));
  }
  if (!stamp.stamped) TRY(stamp_folder(data, expected, stamp));
  stored.counts.sizes = [options, shards = placement.shards()] { return kv::postgres_sizes(options, shards); };
  stored.process = options.owner;
  stored.recovered = [options] { return kv::postgres_stamp(options).has_value(); };
  return stored;
}

void print_finding(const kv::Finding& finding) {
  const nlohmann::json line{{"kind", finding.kind}, {"where", finding.where}, {"what", finding.what}};
  std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

bool in_database(const StoreSettings& settings) { return settings.engine == "postgres"; }

Result<StoreData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                            const StoreDescription& description) {
  TRY(check_database_settings(settings));
  TRY(check_shards(settings, description));
  TRY(check_sharing(settings, description));
  if (description.check_settings) TRY(description.check_settings(settings.share_shards, data));
  return in_database(settings) ? open_in_database(settings, data, description)
                               : open_in_files(settings, data, description);
}

namespace {

Result<void> tell_walk(Result<void> walked, kv::CheckRun& run) {
  if (!walked.failed_with(ErrorCode::kCorruption)) return walked;
  run.found("checksum", "rows", "not all can be read: " + walked.error().detail);
  return {};
}

/// Checks the files of the database first: findings about rows mean nothing if the files are damaged.
Result<void> check_one(const kv::StoredEngine& engine, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run) {
  TRY(kv::check_files(engine, run));
  return description.check ? tell_walk(description.check(engine, folder, run), run) : Result<void>();
}

Result<void> check_together(const std::vector<const kv::Engine*>& engines, const shards::Placement& placement,
                            const StoreDescription& description, const std::filesystem::path& folder,
                            kv::CheckRun& run) {
  if (!description.check_shards || engines.size() != placement.shards()) return {};
  return tell_walk(description.check_shards(engines, placement, folder, run), run);
}

}  // namespace

Result<void> check_all(const shards::StoredShards& shards, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run) {
  std::vector<const kv::Engine*> engines;
  for (const auto& engine : shards) {
    TRY(check_one(*engine, description, folder, run));
    engines.push_back(engine.get());
  }
  return check_together(engines, shards.placement(), description, folder, run);
}

namespace {

/// Checks a folder that exists.
Result<void> check_folder_offline(const StoreSettings& settings, const StoreDescription& description,
                                  const std::filesystem::path& data, kv::CheckRun& run) {
  const auto folder = data / description.folder;
  const auto stamp = check_folder(data, expected_stamp(settings, description), false);
  if (!stamp) run.found("stamp", "file " + std::string(kStampName), stamp.error().message);
  const auto placement = stamp ? stamp->placement : shards::Placement();
  const auto shards = placement.shards();
  std::vector<std::unique_ptr<kv::StoredEngine>> opened;
  std::vector<const kv::Engine*> engines;
  for (std::size_t shard = 0; shard < shards; ++shard) {
    const auto options = files_options(settings, folder, description, shard, shards);
    auto engine = kv::open_rocksdb_to_read(options);
    if (engine) {
      TRY(check_one(**engine, description, folder, run));
      engines.push_back(engine->get());
      opened.push_back(std::move(*engine));
    } else {
      run.found("database", options.path.lexically_relative(data).string(),
                engine.error().message + " " + engine.error().detail);
    }
  }
  return check_together(engines, placement, description, folder, run);
}

}  // namespace

Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description) {
  TRY(check_database_settings(settings));
  TRY(check_shards(settings, description));
  if (in_database(settings)) {
    return fail(ErrorCode::kConfigInvalid,
                "the rows are in PostgreSQL, where only a running store checks them: start it, and run tidemark fsck");
  }
  const auto data = std::filesystem::absolute(settings.data);
  const auto folder = data / description.folder;
  const auto pid_file = TRY(process::PidFile::create(data, description.process_name));
  kv::CheckRun run({}, &print_finding);
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown)) TRY(check_folder_offline(settings, description, data, run));
  const auto& report = run.report();
  std::puts(
      nlohmann::json{{"rows", report.rows}, {"files", report.files}, {"bytes", report.bytes}, {"found", report.found}}
          .dump()
          .c_str());
  if (report.found == 0) return {};
  return fail(ErrorCode::kCorruption, std::to_string(report.found) + " findings in " + folder.string());
}

}  // namespace tidemark::service
