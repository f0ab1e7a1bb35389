#include "jobs/objects/blob_objects.h"

namespace tidemark::jobs {
namespace {

using blob_store::kMaxPieceBytes;

constexpr int kReadRaces = 5;
// No object that a job reads back is larger. A larger blob of this name was not written by a job, and is not read.
constexpr std::uint64_t kMaxObjectBytes = 256UL << 20;

}  // namespace

Task<Result<bool>> BlobObjects::open(Fence fence) {
  // There was no writer before the first delivery, and its first write opens the operation.
  if (fence.epoch == 1) co_return false;
  auto id = fence.operation_id;
  auto opened = co_await blobs_->open_operation(std::move(fence.operation_id), fence.epoch, fence.since);
  if (opened) co_return opened->closed;
  if (opened.error().code != ErrorCode::kFenced) co_return fail(std::move(opened.error()));
  auto ledger = CO_TRY(co_await blobs_->read_operation(std::move(id)));
  if (!ledger.closed) co_return fail(std::move(opened.error()));  // a later delivery has it
  co_return true;
}

Task<Result<void>> BlobObjects::close(Fence fence) {
  CO_TRY(co_await blobs_->close_operation(std::move(fence.operation_id), fence.epoch, fence.since));
  co_return Result<void>{};
}

Task<Result<WriteOutcome>> BlobObjects::put(ObjectWrite write, Fence fence) {
  auto first = co_await put_once(write, fence);
  if (!first.failed_with(ErrorCode::kContainerNotFound) || write.replaces) co_return first;
  CO_TRY(co_await prepare());
  co_return co_await put_once(std::move(write), std::move(fence));
}

Task<Result<WriteOutcome>> BlobObjects::put_once(ObjectWrite write, Fence fence) {
  blob_store::NewContent content;
  content.headers.type = std::move(write.type);
  content.metadata.emplace_back("tidemark_job", fence.operation_id);
  if (write.bytes.size() > kMaxPieceBytes) {
    co_return co_await put_pieces(std::move(write), std::move(content), std::move(fence));
  }
  blob_store::FencedWrite fenced{std::move(fence), write.version, write.replaces};
  co_return co_await blobs_->put(container_, std::move(write.name), std::move(content), std::move(write.bytes),
                                 std::move(fenced));
}

Task<Result<WriteOutcome>> BlobObjects::put_pieces(ObjectWrite write, blob_store::NewContent content, Fence fence) {
  std::uint32_t count = 0;
  auto uncounted = fence;
  uncounted.count_applied_as.clear();
  for (std::size_t at = 0; at < write.bytes.size(); at += kMaxPieceBytes) {
    auto piece = write.bytes.substr(at, kMaxPieceBytes);
    CO_TRY(co_await blobs_->stage(container_, write.name, count++, std::move(piece), uncounted));
  }
  blob_store::FencedWrite fenced{std::move(fence), write.version, write.replaces};
  co_return co_await blobs_->publish(container_, std::move(write.name), count, std::move(content), std::move(fenced));
}

Task<Result<WriteOutcome>> BlobObjects::erase(std::string name, std::int64_t version, Fence fence) {
  blob_store::FencedWrite fenced{std::move(fence), version};
  auto done = co_await blobs_->erase(container_, std::move(name), std::move(fenced));
  if (done.failed_with(ErrorCode::kContainerNotFound)) co_return WriteOutcome::kMissing;
  co_return done;
}

Task<Result<std::optional<StoredObject>>> BlobObjects::read(std::string name) {
  for (int race = 0; race < kReadRaces; ++race) {
    StoredObject object;
    std::optional<blob_store::Stamp> version;
    bool changed = false;
    while (true) {
      auto piece = co_await blobs_->read(container_, name, object.bytes.size(), version);
      if (piece.failed_with(ErrorCode::kContainerNotFound)) co_return std::optional<StoredObject>();
      // The blob was replaced or erased while it was read: start again from the beginning.
      changed = piece.failed_with(ErrorCode::kConditionNotMet) || (version && piece && !piece->has_value());
      if (changed) break;
      if (!piece) co_return fail(std::move(piece.error()));
      if (!piece->has_value()) co_return std::optional<StoredObject>();
      if ((*piece)->size > kMaxObjectBytes) {
        co_return std::optional<StoredObject>({{}, {}, (*piece)->version.etag()});
      }
      version = (*piece)->version;
      object.bytes += (*piece)->bytes;
      if (object.bytes.size() < (*piece)->size) continue;
      object.version = (*piece)->source_version;
      object.revision = version->etag();
      co_return std::optional<StoredObject>(std::move(object));
    }
  }
  co_return fail(ErrorCode::kConditionNotMet, "The blob '" + name + "' kept changing while it was read.");
}

Task<Result<ObjectNames>> BlobObjects::list(std::string prefix, std::string from) {
  auto page = co_await blobs_->list(container_, std::move(prefix), std::move(from));
  if (page.failed_with(ErrorCode::kContainerNotFound)) co_return ObjectNames{};
  if (!page) co_return fail(std::move(page.error()));
  co_return ObjectNames{std::move(page->names), std::move(page->next)};
}

Task<Result<void>> BlobObjects::require() {
  auto page = co_await blobs_->list(container_, {}, {});
  if (page) co_return Result<void>{};
  if (!page.failed_with(ErrorCode::kContainerNotFound)) co_return fail(std::move(page.error()));
  co_return fail(ErrorCode::kContainerNotFound, "The container '" + container_ + "' does not exist.");
}

}  // namespace tidemark::jobs
