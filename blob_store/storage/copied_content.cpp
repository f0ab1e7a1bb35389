#include "blob_store/storage/copied_content.h"

#include <algorithm>
#include <boost/asio/post.hpp>

#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kPiecesPerTurn = 16;  // each of 256 KiB at most

/// Consecutive bytes of the source: content with holes has several runs.
struct Run {
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

std::vector<Run> runs_of(const std::vector<Extent>& extents) {
  std::vector<Run> runs;
  for (const auto& extent : extents) {
    if (extent.size == 0) continue;
    if (runs.empty() || runs.back().offset + runs.back().length != extent.start) runs.push_back({extent.start, 0});
    runs.back().length += extent.size;
  }
  return runs;
}

/// Sets the places of the extents' bytes once they are one behind the other.
void move_together(std::vector<Extent>& extents) {
  std::uint64_t at = 0;
  for (auto& extent : extents) {
    extent.payload = 0;
    extent.from = extent.size == 0 ? 0 : at;
    at += extent.size;
  }
}

Task<Result<void>> copy_run(const ReadableContent& source, Run run, PayloadWriter& writer) {
  const auto executor = co_await asio::this_coro::executor;
  ContentReader reader(source, run.offset, run.length);
  std::size_t pieces = 0;
  for (auto piece = CO_TRY(reader.next()); !piece.empty(); piece = CO_TRY(reader.next())) {
    CO_TRY(co_await writer.append(std::move(piece)));
    if (++pieces % kPiecesPerTurn == 0) co_await asio::post(executor, asio::use_awaitable);
  }
  co_return Result<void>{};
}

}  // namespace

Task<Result<CopiedContent>> copy_content(const ReadableContent& source, PayloadWriter& writer) {
  CopiedContent copied{.payload = {}, .whole = source.small || source.content.whole, .extents = {}};
  std::vector<Run> runs{{0, source.size}};
  if (!copied.whole) {
    if (source.content.id != 0) {
      copied.extents = CO_TRY(read_extents(*source.rows, source.content, source.size, 0, kMaxSharedExtents + 1));
    }
    if (copied.extents.size() > kMaxSharedExtents) co_return fail(ErrorCode::kSnapshotOperationRateExceeded);
    runs = runs_of(copied.extents);
    move_together(copied.extents);
  }
  for (const auto& run : runs) CO_TRY(co_await copy_run(source, run, writer));
  copied.payload = CO_TRY(co_await writer.finish());
  co_return copied;
}

Result<Content> settle(kv::Transaction& txn, Ids ids, const CopiedContent& copied) {
  const auto payload = TRY(settle(txn, ids, copied.payload));
  if (copied.whole) return Content{payload, payload != 0};
  auto extents = copied.extents;
  std::uint64_t owners = 0;
  for (auto& extent : extents) {
    if (extent.size == 0) continue;
    extent.payload = payload;
    ++owners;
  }
  if (owners > 1) TRY(share_payload(txn, payload, owners - 1));
  return write_extents(txn, ids, extents);
}

}  // namespace tidemark::blob_store
