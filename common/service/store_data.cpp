#include "common/service/store_data.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "common/process/private_file.h"
#include "common/process/process.h"
#include "common/service/data_stamp.h"

namespace tidemark::service {
namespace {

kv::RocksDbOptions database_options(const StoreSettings& settings, const std::filesystem::path& folder,
                                    const StoreDescription& description) {
  return {.path = folder,
          .durability = settings.durability == "fsync" ? kv::Durability::kFsync : kv::Durability::kOs,
          .block_cache_bytes = static_cast<std::size_t>(settings.block_cache_mib) << 20,
          .apart_from_bytes = description.values_apart_from_bytes};
}

void print_finding(const kv::Finding& finding) {
  const nlohmann::json line{{"kind", finding.kind}, {"where", finding.where}, {"what", finding.what}};
  std::puts(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace

Result<StoreData> open_data(const StoreSettings& settings, const std::filesystem::path& data,
                            const StoreDescription& description) {
  const StampOf expected{description.folder, description.format};
  const auto stamp = TRY(check_folder(data, expected));
  const auto folder = data / description.folder;
  TRY(process::prepare_directory(folder));
  auto engine = TRY(kv::open_rocksdb(database_options(settings, folder, description)));
  if (!stamp.stamped) {
    if (description.check_unstamped) TRY(description.check_unstamped(*engine));
    TRY(stamp_folder(data, expected, stamp.owner));
  }
  return StoreData{std::move(engine), {description.folder, description.format, stamp.owner}};
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
  const auto data = std::filesystem::absolute(settings.data);
  const auto folder = data / description.folder;
  const auto pid_file = TRY(process::PidFile::create(data, description.process_name));
  kv::CheckRun run({}, &print_finding);
  std::error_code unknown;
  if (std::filesystem::exists(folder, unknown)) {
    if (const auto stamp = check_folder(data, {description.folder, description.format}, false); !stamp) {
      run.found("stamp", "file " + std::string(kStampName), stamp.error().message);
    }
    const auto engine = kv::open_rocksdb_to_read(database_options(settings, folder, description));
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
