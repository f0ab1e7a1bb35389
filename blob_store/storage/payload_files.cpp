#include "blob_store/storage/payload_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <set>
#include <system_error>

#include "common/base/bytes.h"
#include "common/base/fail_points.h"
#include "common/kv/crc32c.h"

namespace tidemark::blob_store {
namespace {

const FailStep kSyncFileStep("blob.sync_file");
const FailStep kRemoveFileStep("blob.remove_file");

constexpr std::size_t kSumBytes = sizeof(std::uint32_t);
constexpr std::size_t kSealedBytes = kSumBytes + kChunkBytes;
constexpr std::uint64_t kFolders = 256;
constexpr std::uint64_t kWritebackBytes = 8UL << 20;

std::unexpected<Error> disk_error(std::string_view what, const std::filesystem::path& path, int code) {
  const bool full = code == ENOSPC || code == EDQUOT;
  return fail(error_for_log(full ? ErrorCode::kInsufficientStorage : ErrorCode::kStorageFailure,
                            fmt::format("{} {}: {}", what, path.string(), std::system_category().message(code))));
}

std::unexpected<Error> damaged(PayloadId payload, std::uint64_t index) {
  return fail(error_for_log(ErrorCode::kCorruption, fmt::format("chunk {} of payload {} is damaged", index, payload)));
}

std::uint32_t sum_of(PayloadId payload, std::uint64_t index, std::string_view bytes) {
  std::string place;
  ByteWriter out(place);
  out.u64(payload);
  out.u64(index);
  return kv::crc32c(bytes, kv::crc32c(place));
}

Result<void> write_all(const Descriptor& file, std::array<iovec, 2> parts, const std::filesystem::path& path) {
  auto* next = parts.data();
  auto left = static_cast<int>(parts.size());
  while (left > 0) {
    const auto written = ::writev(file.get(), next, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return disk_error("writing", path, errno);
    auto done = static_cast<std::size_t>(written);
    for (; left > 0 && done >= next->iov_len; ++next, --left) done -= next->iov_len;
    if (left > 0) {
      next->iov_base = static_cast<char*>(next->iov_base) + done;
      next->iov_len -= done;
    }
  }
  return {};
}

/// Reads the checksum and the bytes of a chunk; returns how many bytes both have.
Result<std::size_t> read_sealed(const Descriptor& file, PayloadId id, std::uint64_t index, std::uint32_t& sum,
                                char* bytes) {
  std::size_t size = 0;
  while (size < kSealedBytes) {
    const auto in_sum = std::min(size, kSumBytes);
    const auto in_bytes = size - in_sum;
    const std::array<iovec, 2> parts{iovec{reinterpret_cast<char*>(&sum) + in_sum, kSumBytes - in_sum},
                                     iovec{bytes + in_bytes, kChunkBytes - in_bytes}};
    const auto got = ::preadv(file.get(), parts.data(), static_cast<int>(parts.size()),
                              static_cast<off_t>(index * kSealedBytes + size));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return disk_error("reading", std::to_string(id), errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  return size;
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory || ::fsync(directory.get()) != 0) return disk_error("syncing", folder, errno);
  return {};
}

std::string folder_name(std::uint64_t number) { return fmt::format("{:02x}", number); }

/// Runs blocking work on the disk's executor, and resumes here.
template <class Work, class Outcome = std::invoke_result_t<const Work&>>
Task<Outcome> on(Executor disk, Work work) {
  return asio::co_spawn(
      std::move(disk), [work = std::move(work)]() -> Task<Outcome> { co_return work(); }, asio::use_awaitable);
}

}  // namespace

std::string seal_chunk(PayloadId payload, std::uint64_t index, std::string_view bytes) {
  const auto sum = sum_of(payload, index, bytes);
  std::string sealed;
  sealed.reserve(kSumBytes + bytes.size());
  sealed.append(reinterpret_cast<const char*>(&sum), kSumBytes);
  sealed += bytes;
  return sealed;
}

Result<std::string> open_chunk(PayloadId payload, std::uint64_t index, std::string sealed) {
  std::uint32_t sum = 0;
  if (sealed.size() < kSumBytes) return damaged(payload, index);
  std::memcpy(&sum, sealed.data(), kSumBytes);
  sealed.erase(0, kSumBytes);
  if (sum_of(payload, index, sealed) != sum) return damaged(payload, index);
  return sealed;
}

PayloadFiles::PayloadFiles(std::filesystem::path directory, Executor disk, bool sync)
    : directory_(std::move(directory)), disk_(std::move(disk)), sync_(sync) {}

Result<void> PayloadFiles::prepare() const {
  MutexLock lock(mutex_);
  if (prepared_) return {};
  std::error_code failed;
  for (std::uint64_t folder = 0; folder < kFolders && !failed; ++folder) {
    std::filesystem::create_directories(directory_ / folder_name(folder), failed);
  }
  if (failed) return disk_error("making folders in", directory_, failed.value());
  if (sync_) {
    TRY(sync_folder(directory_));
    TRY(sync_folder(directory_.parent_path()));
  }
  prepared_ = true;
  return {};
}

std::filesystem::path PayloadFiles::folder_of(PayloadId id) const {
  return directory_ / folder_name((id >> 1) % kFolders);
}

std::filesystem::path PayloadFiles::path_of(PayloadId id) const { return directory_ / name_of(id); }

std::filesystem::path PayloadFiles::name_of(PayloadId id) {
  return std::filesystem::path(folder_name((id >> 1) % kFolders)) / fmt::format("{:x}", id);
}

std::optional<PayloadId> PayloadFiles::id_of(const std::string& file_name) {
  PayloadId id = 0;
  const auto* const end = file_name.data() + file_name.size();
  const auto [read, status] = std::from_chars(file_name.data(), end, id, 16);
  return status == std::errc() && read == end ? std::optional(id) : std::nullopt;
}

Result<void> PayloadFiles::Writing::open() {
  TRY(files_->prepare());
  file_ = Descriptor(::open(files_->path_of(id_).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file_) return disk_error("making", files_->path_of(id_), errno);
  return {};
}

Result<void> PayloadFiles::Writing::write(std::string_view bytes) {
  if (!file_) TRY(open());
  for (; !bytes.empty(); ++chunks_) {
    const auto chunk = bytes.substr(0, kChunkBytes);
    auto sum = sum_of(id_, chunks_, chunk);
    TRY(write_all(file_, {iovec{&sum, kSumBytes}, iovec{const_cast<char*>(chunk.data()), chunk.size()}},
                  files_->path_of(id_)));
    bytes.remove_prefix(chunk.size());
  }
  begin_writeback();
  return {};
}

/// Lets the disk begin with the first bytes, so that the end does not have to wait for all of them. Only a hint:
/// close() reports errors.
void PayloadFiles::Writing::begin_writeback() {
  const auto written = chunks_ * kSealedBytes;
  if (!files_->sync_ || written - handed_over_ < kWritebackBytes) return;
  (void)::sync_file_range(file_.get(), static_cast<off_t>(handed_over_), static_cast<off_t>(written - handed_over_),
                          SYNC_FILE_RANGE_WRITE);
  handed_over_ = written;
}

Result<void> PayloadFiles::Writing::close() {
  const auto file = std::move(file_);
  if (!files_->sync_) return {};
  kSyncFileStep.before.reach();
  if (::fdatasync(file.get()) != 0) return disk_error("syncing", files_->path_of(id_), errno);
  TRY(sync_folder(files_->folder_of(id_)));
  kSyncFileStep.after.reach();
  return {};
}

Task<Result<void>> PayloadFiles::Writing::append(std::string bytes) {
  return on(files_->disk_, [this, bytes = std::move(bytes)] { return write(bytes); });
}

Task<Result<void>> PayloadFiles::Writing::finish() {
  return on(files_->disk_, [this] { return close(); });
}

Result<Descriptor> PayloadFiles::open(PayloadId id) const {
  Descriptor file(::open(path_of(id).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return disk_error("opening", path_of(id), errno);
  return file;
}

Result<std::string> PayloadFiles::read_chunk(const Descriptor& file, PayloadId id, std::uint64_t index) {
  std::uint32_t sum = 0;
  std::string bytes;
  Result<std::size_t> size;
  bytes.resize_and_overwrite(kChunkBytes, [&](char* into, std::size_t) {  // avoids filling with zeros first
    size = read_sealed(file, id, index, sum, into);
    return size.value_or(0) - std::min(size.value_or(0), kSumBytes);
  });
  if (TRY(size) < kSumBytes || sum_of(id, index, bytes) != sum) return damaged(id, index);
  return bytes;
}

std::shared_ptr<void> PayloadFiles::keep_all() const {
  MutexLock lock(removal_mutex_);
  ++keepers_;
  return {nullptr, [this](std::nullptr_t) {
            {
              MutexLock letting_go(removal_mutex_);
              if (--keepers_ > 0) return;
            }
            if (let_go_) let_go_();
          }};
}

Task<Result<bool>> PayloadFiles::remove(std::vector<PayloadId> ids) const {
  return on(disk_, [this, ids = std::move(ids)]() -> Result<bool> {
    MutexLock lock(removal_mutex_);
    if (keepers_ > 0) return false;
    kRemoveFileStep.before.reach();
    std::set<std::filesystem::path> folders;
    for (const auto id : ids) {
      if (::unlink(path_of(id).c_str()) == 0) {
        folders.insert(folder_of(id));
      } else if (errno != ENOENT) {
        return disk_error("removing", path_of(id), errno);
      }
    }
    if (sync_) {
      for (const auto& folder : folders) TRY(sync_folder(folder));
    }
    kRemoveFileStep.after.reach();
    return true;
  });
}

}  // namespace tidemark::blob_store
