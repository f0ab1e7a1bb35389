#include "common/service/store_data.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/base/random.h"
#include "common/base/small_file.h"
#include "common/base/text.h"
#include "common/kv/postgres_engine.h"
#include "common/kv/rocksdb_engine.h"
#include "common/process/private_file.h"
#include "common/process/process.h"
#include "common/process/unique_name.h"
#include "common/service/data_stamp.h"
#include "common/service/engine_metrics.h"

namespace tidemark::service {
namespace {

/// How long rows may be answered from memory after the database was last asked who owns them; docs/scale.md.
constexpr std::chrono::seconds kLease{6};
constexpr std::size_t kMaxBootIdBytes = 64;

kv::RocksDbOptions files_options(const StoreSettings& settings, const std::filesystem::path& folder,
                                 const StoreDescription& description) {
  return {.path = folder,
          .durability = settings.durability == "fsync" ? kv::Durability::kFsync : kv::Durability::kOs,
          .block_cache_bytes = static_cast<std::size_t>(settings.block_cache_mib) << 20,
          .write_buffer_bytes = description.rows.write_buffer_bytes,
          .write_buffers = description.rows.write_buffers,
          .apart_from_bytes = description.rows.apart_from_bytes};
}

/// This directory on this machine since it was started: the pid file shows that whoever had the rows here has ended.
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

/// What is in the folder before it has a stamp.
Result<void> check_unused(const std::filesystem::path& folder) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder, unknown) || std::filesystem::is_empty(folder, unknown)) return {};
  return fail(ErrorCode::kConfigInvalid, folder.string() +
                                             " has data from an older version, which engine postgres would not see: "
                                             "set engine to rocksdb, or begin with an empty directory");
}

Result<StoreData> open_in_files(const StoreSettings& settings, const std::filesystem::path& data,
                                const StoreDescription& description) {
  const StampOf expected{description.folder, description.format};
  const auto stamp = TRY(check_folder(data, expected));
  const auto folder = data / description.folder;
  TRY(process::prepare_directory(folder));
  auto engine = TRY(kv::open_rocksdb(files_options(settings, folder, description)));
  if (!stamp.stamped) {
    if (description.check_unstamped) TRY(description.check_unstamped(*engine));
    TRY(stamp_folder(data, expected, stamp.owner));
  }
  auto figures = [&rocksdb = *engine] { return engine_figures(rocksdb); };
  return StoreData{std::move(engine), {description.folder, description.format, stamp.owner}, std::move(figures)};
}

/// The database says whose rows it has, and the folder whose files; both are the same stack's.
Result<StoreData> open_in_database(const StoreSettings& settings, const std::filesystem::path& data,
                                   const StoreDescription& description) {
  auto options = database_options(settings, data, description);
  const auto where = "the schema " + options.schema + " of the database";
  const StampOf expected{description.folder, description.format, settings.engine};
  const auto kept = TRY(kv::postgres_stamp(options));
  const auto owner = kept ? TRY(check_stamp(*kept, where, expected)) : std::string();
  const auto stamp = TRY(check_folder(data, expected, true, owner));
  if (kept && owner != stamp.owner) {
    return fail(ErrorCode::kConfigInvalid, where + " has the rows of the stack " + owner + ", and " + data.string() +
                                               " belongs to the stack " + stamp.owner +
                                               ": name another database, or the directory that belongs to this one");
  }
  const auto folder = data / description.folder;
  if (!stamp.stamped) TRY(check_unused(folder));
  TRY(process::prepare_directory(folder));
  options.stamp = make_stamp(expected, stamp.owner);
  auto engine = TRY(kv::open_postgres(options));
  if (!stamp.stamped) TRY(stamp_folder(data, expected, stamp.owner));
  auto figures = [&postgres = *engine] { return engine_figures(postgres); };
  return StoreData{
      std::move(engine), {description.folder, description.format, stamp.owner}, std::move(figures), [options] {
        return kv::postgres_stamp(options).has_value();
      }};
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
  return in_database(settings) ? open_in_database(settings, data, description)
                               : open_in_files(settings, data, description);
}

/// The files of the database first: what the rows say is worth nothing if they are damaged.
Result<void> check_all(const kv::StoredEngine& engine, const StoreDescription& description,
                       const std::filesystem::path& folder, kv::CheckRun& run) {
  TRY(kv::check_files(engine, run));
  auto walked = description.check ? description.check(engine, folder, run) : Result<void>();
  if (!walked.failed_with(ErrorCode::kCorruption)) return walked;
  run.found("checksum", "rows", "not all can be read: " + walked.error().detail);
  return {};
}

Result<void> check_offline(const StoreSettings& settings, const StoreDescription& description) {
  TRY(check_database_settings(settings));
  if (in_database(settings)) {
    return fail(ErrorCode::kConfigInvalid,
                "the rows are in PostgreSQL, where only a running store checks them: start it, and run tidemark fsck");
  }
  const auto data = std::filesystem::absolute(settings.data);
  const auto folder = data / description.folder;
  const auto pid_file = TRY(process::PidFile::create(data, description.process_name));
  kv::CheckRun run({}, &print_finding);
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown)) {
    if (const auto stamp = check_folder(data, {description.folder, description.format}, false); !stamp) {
      run.found("stamp", "file " + std::string(kStampName), stamp.error().message);
    }
    const auto engine = kv::open_rocksdb_to_read(files_options(settings, folder, description));
    if (!engine) {
      run.found("database", description.folder, engine.error().message + " " + engine.error().detail);
    } else {
      TRY(check_all(**engine, description, folder, run));
    }
  }
  const auto& report = run.report();
  std::puts(
      nlohmann::json{{"rows", report.rows}, {"files", report.files}, {"bytes", report.bytes}, {"found", report.found}}
          .dump()
          .c_str());
  if (report.found == 0) return {};
  return fail(ErrorCode::kCorruption, std::to_string(report.found) + " findings in " + folder.string());
}

}  // namespace tidemark::service
