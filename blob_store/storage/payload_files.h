// Large payloads, each a file of its own: DIRECTORY/XX/ID. A file is a sequence of chunks of 256 KiB, the last one
// shorter, each preceded by the CRC-32C of its place and bytes. It is written once, from its beginning to its end, and
// never changes. Measured against rows of the database (bench/micro/payload_layout.cpp): a third of the bytes written,
// a tenth of the processor time, and the space is free as soon as a file is removed.
//
// Writing, syncing and removing are done on the disk's executor, since they block; reading on the caller's thread, as
// reads of the database are. Thread safe; each file that is being written is for one coroutine. Errors:
// kStorageFailure, kCorruption.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "common/base/async.h"
#include "common/base/descriptor.h"
#include "common/base/mutex.h"

namespace tidemark::blob_store {

inline constexpr std::size_t kChunkBytes = 256UL << 10;
/// An upload that takes longer breaks off. After this time, a former owner of a shard makes no more files.
inline constexpr Duration kLongestUpload = std::chrono::hours(24);

/// The CRC-32C and the bytes of a chunk. The sum covers the place, so a chunk in the wrong place counts as damage.
std::string seal_chunk(PayloadId payload, std::uint64_t index, std::string_view bytes);
Result<std::string> open_chunk(PayloadId payload, std::uint64_t index, std::string sealed);

class PayloadFiles {
 public:
  /// `sync`: a finished file survives a power cut.
  PayloadFiles(std::filesystem::path directory, Executor disk, bool sync);

  class Writing {
   public:
    /// Takes whole chunks; only the last call may have other bytes.
    Task<Result<void>> append(std::string bytes);
    /// Makes the file durable, if `sync` was set.
    Task<Result<void>> finish();

   private:
    friend class PayloadFiles;
    Writing(const PayloadFiles& files, PayloadId id) : files_(&files), id_(id) {}
    Result<void> open();
    Result<void> write(std::string_view bytes);
    void begin_writeback();
    Result<void> close();
    const PayloadFiles* files_;
    PayloadId id_;
    Descriptor file_;
    std::uint64_t chunks_ = 0;
    std::uint64_t handed_over_ = 0;  // bytes that the disk was told to write
  };
  /// The first append() makes the file.
  [[nodiscard]] Writing begin(PayloadId id) const { return {*this, id}; }

  [[nodiscard]] Result<Descriptor> open(PayloadId id) const;
  static Result<std::string> read_chunk(const Descriptor& file, PayloadId id, std::uint64_t index);
  /// Removes files durably, so that none comes back without a row that knows it. Missing files count as removed.
  /// Returns false if none was removed because a caller of keep_all() keeps them.
  Task<Result<bool>> remove(std::vector<PayloadId> ids) const;
  /// While the result lives, no file is removed. Waits for a removal that is under way.
  [[nodiscard]] std::shared_ptr<void> keep_all() const;
  /// Sets a function to call, on any thread, when files may be removed again. Call it before the first keep_all().
  void when_let_go(std::function<void()> call) { let_go_ = std::move(call); }

  /// Returns "XX/ID", below the directory.
  static std::filesystem::path name_of(PayloadId id);
  /// Returns the payload of a file with this name; nothing if it is not the name of one.
  static std::optional<PayloadId> id_of(const std::string& file_name);
  [[nodiscard]] const std::filesystem::path& directory() const { return directory_; }

 private:
  /// Makes the folders, durably, before the first file of this process.
  Result<void> prepare() const;
  [[nodiscard]] std::filesystem::path folder_of(PayloadId id) const;
  [[nodiscard]] std::filesystem::path path_of(PayloadId id) const;
  std::filesystem::path directory_;
  Executor disk_;
  bool sync_;
  mutable Mutex mutex_;
  mutable bool prepared_ GUARDED_BY(mutex_) = false;
  mutable Mutex removal_mutex_;  // held while files are removed
  mutable std::size_t keepers_ GUARDED_BY(removal_mutex_) = 0;
  std::function<void()> let_go_;
};

}  // namespace tidemark::blob_store
