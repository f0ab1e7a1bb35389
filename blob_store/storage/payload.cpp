#include "blob_store/storage/payload.h"

#include <algorithm>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

const FailStep kRegisterPayloadStep("blob.register_payload");

constexpr std::size_t kFlushBytes = 2 * kChunkBytes;  // fewer turns to the disk on large uploads
constexpr std::size_t kExtentsAhead = 64;

}  // namespace

Task<Result<void>> PayloadWriter::append(std::string bytes) {
  size_ += bytes.size();
  if (buffer_.empty()) {
    buffer_ = std::move(bytes);
  } else {
    buffer_ += bytes;
  }
  if (buffer_.size() < kFlushBytes) co_return Result<void>{};
  co_return co_await flush(false);
}

Task<Result<PayloadId>> register_pending(kv::Engine& engine, Ids ids, const Clock& clock) {
  PayloadId id = 0;
  CO_TRY(co_await engine.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        id = TRY(ids.take(txn)) | 1;
        const auto now = clock.now().time_since_epoch().count();
        txn.put(blob_keys::pending(id), records::encode_number(static_cast<std::uint64_t>(now)));
        return {};
      },
      &kRegisterPayloadStep));
  co_return id;
}

Task<Result<void>> PayloadWriter::begin() {
  const auto id = CO_TRY(co_await pending_.add());
  id_ = id;
  begun_ = clock_.monotonic();
  file_ = files_.begin(id);
  co_return Result<void>{};
}

/// Without `all`, bytes that do not fill a chunk stay for the next time.
Task<Result<void>> PayloadWriter::flush(bool all) {
  if (id_ == 0) CO_TRY(co_await begin());
  if (clock_.monotonic() - begun_ > kLongestUpload) co_return fail(ErrorCode::kOperationTimedOut);
  if (auto refusal = pending_.refusal()) co_return fail(std::move(*refusal));
  const auto whole = buffer_.size() / kChunkBytes * kChunkBytes;
  auto rest = all ? std::string() : buffer_.substr(whole);
  if (!all) buffer_.resize(whole);
  CO_TRY(co_await file_->append(std::exchange(buffer_, std::move(rest))));
  co_return Result<void>{};
}

Task<Result<WrittenPayload>> PayloadWriter::finish() {
  if (id_ == 0 && buffer_.size() <= kChunkBytes) co_return WrittenPayload{0, size_, std::move(buffer_)};
  if (!buffer_.empty()) CO_TRY(co_await flush(true));
  CO_TRY(co_await file_->finish());
  co_return WrittenPayload{id_, size_, {}};
}

Result<PayloadId> settle(kv::Transaction& txn, Ids ids, const WrittenPayload& payload) {
  if (payload.id != 0) {
    if (Ids::shard_of(payload.id) != ids.shard()) {
      return fail(error_for_log(ErrorCode::kInternalError, "a payload was written for a blob of another shard"));
    }
    const auto pending = blob_keys::pending(payload.id);
    if (!TRY(txn.get(pending))) return fail(ErrorCode::kServerBusy);
    txn.erase(pending);
    return payload.id;
  }
  if (payload.small.empty()) return PayloadId{0};
  const auto id = TRY(ids.take(txn));
  txn.put(blob_keys::payload(id), seal_chunk(id, 0, payload.small));
  return id;
}

/// Moves the extent that holds `at_`, or the next one, to the front; leaves none if there is none.
Result<void> ContentReader::find_extent() {
  while (!extents_.empty() && extents_.front().start + extents_.front().size <= at_) extents_.pop_front();
  if (!extents_.empty() || !from_.rows) return {};
  auto found = TRY(read_extents(*from_.rows, from_.content, from_.size, at_, kExtentsAhead));
  const bool all_found = found.size() < kExtentsAhead;
  std::erase_if(found, [](const Extent& extent) { return extent.size == 0; });
  extents_.assign(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  // A snapshot may hold a connection to a database, so it is not kept longer than it is needed.
  if (all_found && std::ranges::all_of(extents_, [](const auto& extent) { return is_file(extent.payload); })) {
    from_.rows.reset();
  }
  return {};
}

Result<std::string> ContentReader::read_chunk(PayloadId payload, std::uint64_t index) {
  if (!is_file(payload)) {
    auto stored = TRY(from_.rows->get(blob_keys::payload(payload)));
    return open_chunk(payload, index, std::move(stored).value_or(""));
  }
  if (open_ != payload) {
    file_ = TRY(from_.files->open(payload));
    open_ = payload;
  }
  return PayloadFiles::read_chunk(file_, payload, index);
}

Result<std::string> ContentReader::next() {
  if (left_ == 0) return std::string();
  if (from_.small) {
    auto piece = std::move(*from_.small);
    if (piece.size() < at_ + left_) return fail(ErrorCode::kCorruption);
    piece.resize(at_ + left_);
    piece.erase(0, at_);
    left_ = 0;
    return piece;
  }
  if (from_.right && from_.right->expired()) return fail(ErrorCode::kOperationTimedOut);
  TRY(find_extent());
  if (extents_.empty() || extents_.front().start > at_) {
    if (!from_.sparse) return fail(ErrorCode::kCorruption);
    const auto hole = extents_.empty() ? left_ : extents_.front().start - at_;
    std::string zeros(std::min<std::uint64_t>({hole, left_, kChunkBytes}), '\0');
    at_ += zeros.size();
    left_ -= zeros.size();
    return zeros;
  }
  const auto& extent = extents_.front();
  const auto in_payload = extent.from + (at_ - extent.start);
  auto chunk = TRY(read_chunk(extent.payload, in_payload / kChunkBytes));
  const auto skip = in_payload % kChunkBytes;
  const auto room = std::min(left_, extent.start + extent.size - at_);
  if (skip >= chunk.size()) return fail(ErrorCode::kCorruption);
  const auto take = std::min<std::uint64_t>(chunk.size() - skip, room);
  if (skip != 0 || take != chunk.size()) chunk = chunk.substr(skip, take);
  at_ += take;
  left_ -= take;
  return chunk;
}

}  // namespace tidemark::blob_store
