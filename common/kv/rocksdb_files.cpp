// The files of a database: copies and checks of them.
#include <fcntl.h>
#include <fmt/format.h>
#include <rocksdb/file_checksum.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/checkpoint.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include "common/base/descriptor.h"
#include "common/kv/check.h"
#include "common/kv/log_check.h"
#include "common/kv/rocksdb_database.h"

namespace tidemark::kv {
namespace {

namespace fs = std::filesystem;
using Wrong = std::optional<std::string>;  // the damage of a file

constexpr std::size_t kReadBytes = 256UL << 10;

fs::path path_of(const std::string& folder, const std::string& name) {
  return fs::path(folder) / (name.starts_with('/') ? name.substr(1) : name);
}

std::unexpected<Error> unreadable(const fs::path& path) {
  return fail(error_for_log(ErrorCode::kStorageFailure,
                            fmt::format("reading {}: {}", path.string(), std::system_category().message(errno))));
}

/// Compares a whole file with its noted sum.
Result<Wrong> check_whole(const StoredFile& file, const Descriptor& open, CheckRun& run) {
  auto sum = rocksdb::GetFileChecksumGenCrc32cFactory()->CreateFileChecksumGenerator({});
  std::string piece(kReadBytes, '\0');
  std::uint64_t size = 0;
  for (;;) {
    const auto got = ::pread(open.get(), piece.data(), piece.size(), static_cast<off_t>(size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(file.path);
    if (got == 0) break;
    sum->Update(piece.data(), static_cast<std::size_t>(got));
    size += static_cast<std::uint64_t>(got);
    TRY(run.read_bytes(static_cast<std::uint64_t>(got)));
  }
  sum->Finalize();
  if (size != file.size) return Wrong(fmt::format("has {} bytes instead of {}", size, file.size));
  return sum->GetChecksum() == file.checksum ? Wrong() : Wrong("its bytes are not those that were written");
}

/// Checks the sums of the blocks, which cover all but a few bytes.
Result<Wrong> check_blocks(const StoredFile& file, CheckRun& run) {
  rocksdb::SstFileReader reader{rocksdb::Options()};
  auto status = reader.Open(file.path.string());
  if (status.ok()) status = reader.VerifyChecksum();
  TRY(run.read_bytes(file.size));
  if (status.IsCorruption()) return Wrong(status.ToString());
  return Wrong();  // any other error: the file has gone meanwhile
}

Result<Wrong> check_file(const StoredFile& file, CheckRun& run) {
  using enum StoredFile::Kind;
  const Descriptor open(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!open && errno == ENOENT) return Wrong("is missing");
  if (!open) return unreadable(file.path);
  if (file.kind == kLog || file.kind == kManifest) {
    return detail::check_log(*rocksdb::Env::Default(), file.path, file.size,
                             [&](std::uint64_t bytes) { return run.read_bytes(bytes); });
  }
  if (!file.checksum.empty()) return check_whole(file, open, run);
  return file.kind == kRows ? check_blocks(file, run) : Wrong();  // values are read with their rows
}

/// Tells whether the file is still in use. A file that a compaction has made superfluous since is not damaged.
Result<bool> still_there(const StoredEngine& engine, const StoredFile& file) {
  for (const auto& other : TRY(engine.files())) {
    if (other.path == file.path) return true;
  }
  return false;
}

std::uint64_t file_size_of(const fs::path& path) {
  std::error_code unknown;
  const auto size = fs::file_size(path, unknown);
  return unknown ? 0 : size;
}

}  // namespace

Result<void> check_files(const StoredEngine& engine, CheckRun& run) {
  for (const auto& file : TRY(engine.files())) {
    const auto wrong = TRY(check_file(file, run));
    run.read_file();
    if (wrong && TRY(still_there(engine, file))) run.found("checksum", "file " + file.path.filename().string(), *wrong);
  }
  return {};
}

std::uint64_t detail::estimate_bytes(rocksdb::DB& db, const KeyRange& range) {
  const std::string last(64, '\xff');  // no key is greater
  const rocksdb::Range whole(slice(range.lower), range.upper.empty() ? slice(last) : slice(range.upper));
  rocksdb::SizeApproximationOptions both;
  both.include_memtables = true;
  both.include_files = true;
  std::uint64_t bytes = 0;
  const auto status = db.GetApproximateSizes(both, db.DefaultColumnFamily(), &whole, 1, &bytes);
  return status.ok() ? bytes : 0;
}

Result<void> detail::make_checkpoint(rocksdb::DB& db, const fs::path& directory) {
  rocksdb::Checkpoint* made = nullptr;
  auto status = rocksdb::Checkpoint::Create(&db, &made);
  const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
  if (status.ok()) {
    status = checkpoint->CreateCheckpoint(directory.string(), std::numeric_limits<std::uint64_t>::max());
  }
  return status.ok() ? Result<void>() : fail(error_of(status));
}

Result<std::vector<StoredFile>> detail::files_of(rocksdb::DB& db) {
  std::vector<StoredFile> files;
  rocksdb::ColumnFamilyMetaData family;
  db.GetColumnFamilyMetaData(&family);
  std::vector<rocksdb::LiveFileMetaData> tables;
  db.GetLiveFilesMetaData(&tables);
  for (const auto& table : tables) {
    files.push_back({StoredFile::Kind::kRows, path_of(table.db_path, table.name), table.size, table.file_checksum});
  }
  for (const auto& values : family.blob_files) {
    files.push_back({StoredFile::Kind::kValues, path_of(values.blob_file_path, values.blob_file_name),
                     values.blob_file_size, values.checksum_value});
  }
  std::error_code failed;
  auto entry = fs::directory_iterator(db.GetName(), failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    const auto name = entry->path().filename().string();
    const bool manifest = name.starts_with("MANIFEST-");
    if (!manifest && !name.ends_with(".log")) continue;
    const auto kind = manifest ? StoredFile::Kind::kManifest : StoredFile::Kind::kLog;
    files.push_back({kind, entry->path(), file_size_of(entry->path()), {}});
  }
  if (failed)
    return fail(error_for_log(ErrorCode::kStorageFailure, "listing " + db.GetName() + ": " + failed.message()));
  return files;
}

}  // namespace tidemark::kv
