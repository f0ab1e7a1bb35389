// Large payloads, each a file of its own: DIRECTORY/XX/ID. A file is a sequence of chunks of 256 KiB, the last one
// shorter, each behind the CRC-32C of its place and bytes. It is written once, from its beginning to its end, and never
// changes. Measured against rows of the database (bench/micro/payload_layout.cpp): a third of the bytes written, a
// tenth of the processor time, and the space is free as soon as a file is removed.
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
/// One that takes longer breaks off. Afterwards, no former owner of a shard makes its file any more.
inline constexpr Duration kLongestUpload = std::chrono::hours(24);

/// CRC-32C and bytes of a chunk. The sum is also over the place, so that a chunk in the wrong place is damage.
std::string seal_chunk(PayloadId payload, std::uint64_t index, std::string_view bytes);
Result<std::string> open_chunk(PayloadId payload, std::uint64_t index, std::string sealed);

class PayloadFiles {
 public:
  /// `sync`: a finished file survives a power cut.
  PayloadFiles(std::filesystem::path directory, Executor disk, bool sync);

  class Writing {
   public:
    /// Bytes of whole chunks; only the last call may have others.
    Task<Result<void>> append(std::string bytes);
    /// Durable, if that is wanted.
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
    std::uint64_t handed_over_ = 0;  // bytes of which the disk was told to write them
  };
  /// The file is made by the first append().
  [[nodiscard]] Writing begin(PayloadId id) const { return {*this, id}; }

  [[nodiscard]] Result<Descriptor> open(PayloadId id) const;
  static Result<std::string> read_chunk(const Descriptor& file, PayloadId id, std::uint64_t index);
  /// Durably, so that none comes back without a row that knows it. Those that are not there are gone already. False:
  /// none was removed, because somebody keeps them all.
  Task<Result<bool>> remove(std::vector<PayloadId> ids) const;
  /// While it lives, no file is removed. Waits for a removal that is under way.
  [[nodiscard]] std::shared_ptr<void> keep_all() const;
  /// Called, on any thread, when files may be removed again. Before the first keep_all().
  void when_let_go(std::function<void()> call) { let_go_ = std::move(call); }

  /// "XX/ID", below the directory.
  static std::filesystem::path name_of(PayloadId id);
  /// The payload of a file with this name; nothing if it is none.
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
