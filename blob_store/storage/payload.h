// Writes and reads content in bounded memory. A payload is a sequence of chunks that never changes once it is
// published. Each object is for one coroutine at a time. Errors: kCorruption when a chunk is missing or its checksum is
// wrong, and the engine's.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Chunks that were written, or content that fits into one chunk and is in memory; the publishing transaction then
/// writes it.
struct WrittenPayload {
  std::uint64_t id = 0;  // 0: nothing stored yet
  std::uint64_t size = 0;
  std::string small;
};

/// Writes chunks durably as they come. It registers the payload as pending before its first chunk. In the end, the
/// payload must be settled in a transaction or abandoned.
class PayloadWriter {
 public:
  PayloadWriter(kv::Engine& engine, Clock& clock) : engine_(engine), clock_(clock) {}
  Task<Result<void>> append(std::string bytes);
  Task<Result<WrittenPayload>> finish();
  /// 0 if nothing was stored.
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  Task<Result<void>> flush();
  kv::Engine& engine_;
  Clock& clock_;
  std::string buffer_;
  std::uint64_t id_ = 0;
  std::uint64_t chunks_ = 0;
  std::uint64_t size_ = 0;
};

/// Makes the payload live in the transaction that refers to it; returns its id, which is 0 for empty content.
Result<std::uint64_t> settle(kv::Transaction& txn, const WrittenPayload& payload);
/// The next number of the store-wide counter.
Result<std::uint64_t> take_id(kv::Transaction& txn);

/// Reads [offset, offset + length) of a blob from a snapshot, so a blob that is replaced or deleted meanwhile is still
/// read as it was.
class PayloadReader {
 public:
  PayloadReader(std::shared_ptr<const kv::Reader> snapshot, std::vector<Extent> extents, std::uint64_t offset,
                std::uint64_t length);
  /// The next piece, at most one chunk; empty at the end.
  Result<std::string> next();

 private:
  std::shared_ptr<const kv::Reader> snapshot_;
  std::vector<Extent> extents_;
  std::size_t extent_ = 0;
  std::uint64_t within_ = 0;  // offset in the current extent
  std::uint64_t left_;
};

}  // namespace tidemark::blob_store
