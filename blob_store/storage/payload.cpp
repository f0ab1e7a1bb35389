#include "blob_store/storage/payload.h"

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/crc32c.h"

namespace tidemark::blob_store {
namespace {

const FailStep kFlushStep("blob.flush");

// One durable write holds several chunks: fewer waits for the disk on large uploads.
constexpr std::size_t kFlushBytes = 4 * blob_keys::kChunkBytes;

std::string chunk_record(std::string_view bytes) {
  const auto crc = crc32c(bytes);
  std::string record;
  record.reserve(sizeof crc + bytes.size());
  record.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  record += bytes;
  return record;
}

Result<std::string> open_chunk(std::string record) {
  std::uint32_t crc = 0;
  const bool has_crc = record.size() >= sizeof crc;
  if (has_crc) {
    std::memcpy(&crc, record.data(), sizeof crc);
    record.erase(0, sizeof crc);
  }
  if (has_crc && crc32c(record) == crc) return record;
  auto error = make_error(ErrorCode::kCorruption);
  error.detail = "a chunk of stored content is damaged";
  return fail(std::move(error));
}

void put_chunks(kv::Transaction& txn, std::uint64_t id, std::uint64_t first, std::string_view bytes) {
  for (; !bytes.empty(); ++first) {
    const auto piece = bytes.substr(0, blob_keys::kChunkBytes);
    txn.put(blob_keys::chunk(id, first), chunk_record(piece));
    bytes.remove_prefix(piece.size());
  }
}

}  // namespace

Result<std::uint64_t> take_id(kv::Transaction& txn) {
  const auto stored = TRY(txn.get(blob_keys::kNextId));
  const auto id = stored ? TRY(records::decode_number(*stored)) : std::uint64_t{1};
  txn.put(blob_keys::kNextId, records::encode_number(id + 1));
  return id;
}

Task<Result<void>> PayloadWriter::append(std::string bytes) {
  size_ += bytes.size();
  if (buffer_.empty()) {
    buffer_ = std::move(bytes);
  } else {
    buffer_ += bytes;
  }
  if (buffer_.size() < kFlushBytes) co_return Result<void>{};
  co_return co_await flush();
}

// Writes whole chunks; what is less than one stays for the next time.
Task<Result<void>> PayloadWriter::flush() {
  const auto whole = std::max<std::size_t>(buffer_.size() / blob_keys::kChunkBytes, 1) * blob_keys::kChunkBytes;
  const auto bytes = std::string_view(buffer_).substr(0, whole);
  std::uint64_t id = id_;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        if (id_ == 0) {
          id = TRY(take_id(txn));
          const auto now = clock_.now().time_since_epoch().count();
          txn.put(blob_keys::pending(id), records::encode_number(static_cast<std::uint64_t>(now)));
        }
        put_chunks(txn, id, chunks_, bytes);
        return {};
      },
      &kFlushStep));
  id_ = id;
  chunks_ += (bytes.size() + blob_keys::kChunkBytes - 1) / blob_keys::kChunkBytes;
  buffer_.erase(0, bytes.size());
  co_return Result<void>{};
}

Task<Result<WrittenPayload>> PayloadWriter::finish() {
  if (id_ == 0 && buffer_.size() <= blob_keys::kChunkBytes) {
    co_return WrittenPayload{0, size_, std::move(buffer_)};
  }
  while (!buffer_.empty()) {
    CO_TRY(co_await flush());
  }
  co_return WrittenPayload{id_, size_, {}};
}

Result<std::uint64_t> settle(kv::Transaction& txn, const WrittenPayload& payload) {
  if (payload.id != 0) {
    txn.erase(blob_keys::pending(payload.id));
    return payload.id;
  }
  if (payload.small.empty()) return std::uint64_t{0};
  auto id = take_id(txn);
  if (id) put_chunks(txn, *id, 0, payload.small);
  return id;
}

PayloadReader::PayloadReader(std::shared_ptr<const kv::Reader> snapshot, std::vector<Extent> extents,
                             std::uint64_t offset, std::uint64_t length)
    : snapshot_(std::move(snapshot)), extents_(std::move(extents)), within_(offset), left_(length) {}

Result<std::string> PayloadReader::next() {
  while (left_ > 0 && extent_ < extents_.size() && within_ >= extents_[extent_].size) {
    within_ -= extents_[extent_].size;
    ++extent_;
  }
  if (left_ == 0) return std::string();
  if (extent_ == extents_.size()) return fail(ErrorCode::kCorruption);
  auto stored = TRY(snapshot_->get(blob_keys::chunk(extents_[extent_].payload, within_ / blob_keys::kChunkBytes)));
  auto chunk = open_chunk(std::move(stored).value_or(""));
  if (!chunk) return chunk;
  const auto skip = within_ % blob_keys::kChunkBytes;
  if (skip >= chunk->size()) return fail(ErrorCode::kCorruption);
  const auto take = std::min<std::uint64_t>(chunk->size() - skip, left_);
  if (skip != 0 || take != chunk->size()) *chunk = chunk->substr(skip, take);
  within_ += take;
  left_ -= take;
  return chunk;
}

}  // namespace tidemark::blob_store
