// Writes and reads content in bounded memory. Each object is for one coroutine at a time. Errors: kCorruption when a
// chunk is missing or its checksum is wrong, kOperationTimedOut for a reader that took hours, and the engine's errors.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/payload_files.h"
#include "blob_store/storage/readers.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// A file that was written, or content of at most one chunk that is in memory; the publishing transaction then writes
/// it as a row.
struct WrittenPayload {
  PayloadId id = 0;  // 0: nothing stored yet
  std::uint64_t size = 0;
  std::string small;
};

/// Registers payloads of a shard as pending.
struct PayloadRegister {
  std::function<Task<Result<PayloadId>>()> add;
  /// Returns the error if no more bytes may be written: when a disk is nearly full, they are refused as transactions
  /// are.
  std::function<std::optional<Error>()> refusal;
};

/// Takes content as it comes. Content of more than one chunk becomes a file, whose payload is registered as pending
/// before the file is made. In the end, the payload must be settled in a transaction or abandoned.
class PayloadWriter {
 public:
  PayloadWriter(PayloadRegister pending, const Clock& clock, const PayloadFiles& files)
      : pending_(std::move(pending)), clock_(clock), files_(files) {}
  Task<Result<void>> append(std::string bytes);
  /// Makes the content durable, unless it is small.
  Task<Result<WrittenPayload>> finish();
  /// Returns 0 if nothing was stored.
  [[nodiscard]] PayloadId id() const { return id_; }

 private:
  Task<Result<void>> flush(bool all);
  Task<Result<void>> begin();
  PayloadRegister pending_;
  const Clock& clock_;
  const PayloadFiles& files_;
  std::optional<PayloadFiles::Writing> file_;
  std::string buffer_;
  PayloadId id_ = 0;
  std::uint64_t size_ = 0;
  Duration begun_{};  // when it was registered
};

/// Registers a payload as pending, and returns its id.
Task<Result<PayloadId>> register_pending(kv::Engine& engine, Ids ids, const Clock& clock);
/// Makes a pending payload a referenced one; returns its id, which is 0 for empty content. kServerBusy if it is no
/// longer pending: its shard was claimed by a process meanwhile, which gave up all pending payloads.
Result<PayloadId> settle(kv::Transaction& txn, Ids ids, const WrittenPayload& payload);

/// The right to read a content. While it lives, and for kMaxReading at most, the content stays as it is.
class ReadingRight {
 public:
  explicit ReadingRight(const Clock& clock) : clock_(clock), since_(clock.monotonic()) {}
  virtual ~ReadingRight() = default;
  ReadingRight(const ReadingRight&) = delete;
  ReadingRight& operator=(const ReadingRight&) = delete;
  [[nodiscard]] bool expired() const { return clock_.monotonic() - since_ > kMaxReading; }

 private:
  const Clock& clock_;
  const Duration since_;
};

/// The readable part of a blob: the content as it was when the blob was looked up.
struct ReadableContent {
  Content content;
  std::uint64_t size = 0;
  bool sparse = false;                     // a page blob: holes are read as zeros
  std::optional<std::string> small;        // the whole content
  std::shared_ptr<const kv::Reader> rows;  // null if there is nothing to read in them
  std::shared_ptr<const ReadingRight> right;
  const PayloadFiles* files = nullptr;
};

/// Reads [offset, offset + length) of a content.
class ContentReader {
 public:
  ContentReader(ReadableContent readable, std::uint64_t offset, std::uint64_t length)
      : from_(std::move(readable)), at_(offset), left_(length) {}
  /// Returns the next piece, at most one chunk; empty at the end.
  Result<std::string> next();

 private:
  Result<void> find_extent();
  Result<std::string> read_chunk(PayloadId payload, std::uint64_t index);
  ReadableContent from_;
  std::uint64_t at_;
  std::uint64_t left_;
  std::deque<Extent> extents_;  // the next ones
  PayloadId open_ = 0;          // the payload whose file is open
  Descriptor file_;
};

}  // namespace tidemark::blob_store
