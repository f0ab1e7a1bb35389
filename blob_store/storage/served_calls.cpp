#include "blob_store/storage/served_calls.h"

#include "common/base/bytes.h"
#include "common/base/encoding.h"
#include "common/protocol/service_properties.h"

namespace tidemark::blob_store {
namespace {

/// Returns the id of the block that holds a staged piece: base64 of 32 bytes, always the same length.
std::string block_id(const Fence& fence, std::uint64_t index) {
  std::string identity;
  ByteWriter out(identity);
  out.raw(md5(fence.operation_id));
  out.u64(fence.epoch);
  out.u64(index);
  return base64_encode(identity);
}

template <class Call>
BlobRef blob_of(Call& call) {
  return {std::move(call.account), std::move(call.container), blob_name_of(std::move(call.name))};
}

}  // namespace

namespace handlers {

Task<Result<void>> ensure(BlobService& service, calls::EnsureContainer call) {
  auto done = co_await service.create_container({std::move(call.account), std::move(call.container)}, {}, {});
  if (done.failed_with(ErrorCode::kContainerAlreadyExists)) co_return Result<void>();
  CO_TRY(std::move(done));
  co_return Result<void>();
}

Task<Result<WriteOutcome>> put(BlobService& service, calls::Put call) {
  call.content.headers.md5 = base64_encode(md5(call.bytes));
  auto ref = blob_of(call);
  auto payload = CO_TRY(co_await store_payload(service, ref, std::move(call.bytes)));
  co_return co_await service.put_if_newer(std::move(ref), std::move(call.content), std::move(payload),
                                          std::move(call.write));
}

Task<Result<void>> stage(BlobService& service, calls::Stage call) {
  auto ref = blob_of(call);
  auto payload = CO_TRY(co_await store_payload(service, ref, std::move(call.bytes)));
  auto id = block_id(call.fence, call.index);
  co_return co_await service.stage_block(std::move(ref), std::move(id), std::move(payload), std::move(call.fence));
}

Task<Result<WriteOutcome>> publish(BlobService& service, calls::Publish call) {
  if (call.count > kMaxBlocksInList) co_return fail(ErrorCode::kInvalidInput, "A blob has at most 50,000 pieces.");
  std::vector<std::string> ids;
  ids.reserve(call.count);
  for (std::uint32_t index = 0; index < call.count; ++index) ids.push_back(block_id(call.write.fence, index));
  co_return co_await service.publish_if_newer(blob_of(call), std::move(ids), std::move(call.content),
                                              std::move(call.write));
}

Task<Result<WriteOutcome>> erase(BlobService& service, calls::Erase call) {
  return service.erase_unless_newer(blob_of(call), std::move(call.write));
}

Result<std::optional<BlobPiece>> read(BlobService& service, calls::Read call) {
  auto opened = service.open_blob(blob_of(call), {});
  if (opened.failed_with(ErrorCode::kBlobNotFound)) return std::optional<BlobPiece>();
  if (!opened) return fail(std::move(opened.error()));
  if (call.version && call.version->ticks != opened->blob.version.ticks) return fail(ErrorCode::kConditionNotMet);
  const auto& blob = opened->blob;
  BlobPiece piece{blob.version, blob.size, blob.source_version, {}};
  const auto offset = std::min(call.offset, blob.size);
  const auto length = std::min<std::uint64_t>(blob.size - offset, kMaxPieceBytes);
  auto reader = opened->read(offset, length);
  while (piece.bytes.size() < length) {
    auto bytes = TRY(reader.next());
    if (bytes.empty()) return fail(ErrorCode::kCorruption);
    piece.bytes += bytes;
  }
  return std::optional<BlobPiece>(std::move(piece));
}

Result<BlobNames> list(BlobService& service, calls::List call) {
  ListRequest listing;
  listing.prefix = std::move(call.prefix);
  listing.from.name = std::move(call.from);
  auto page = TRY(service.list_blobs({call.account, call.container}, listing));
  BlobNames names;
  for (auto& item : page.items) names.names.push_back(std::move(item.name));
  names.next = std::move(page.next.name);
  return names;
}

Task<Result<WriteOutcome>> discard(BlobService& service, calls::Discard call) {
  return service.discard_blob(blob_of(call), call.version, std::move(call.fence));
}

Result<OlderBlobs> list_older(BlobService& service, calls::ListOlder call) {
  ListRequest listing;
  listing.prefix = std::move(call.prefix);
  listing.from.name = std::move(call.from);
  auto page = TRY(service.list_blobs({call.account, call.container}, listing));
  OlderBlobs older;
  for (auto& item : page.items) {
    if (item.blob.version.time() < call.before) older.blobs.push_back({std::move(item.name), item.blob.version});
  }
  older.next = std::move(page.next.name);
  return older;
}

Task<Result<void>> set_service_properties(BlobService& service, calls::SetServiceProperties call) {
  co_return co_await service.set_service_properties(std::move(call.account), [&](const std::string& stored) {
    return protocol::merge_service_properties(protocol::StoreKind::kBlob, stored, call.document);
  });
}

ChangedBlob changes_of(const Blob& blob) {
  return {blob.version, blob.type == BlobType::kPage ? std::optional(blob.sequence_number) : std::nullopt};
}

/// Snapshots share bytes with blobs, and staged blocks do not count yet, so neither is looked at.
Result<BlobUsage> usage(BlobService& service, calls::Usage call) {
  ListRequest first;
  first.from.name = call.container;
  first.limit = 1;
  first.with_system = true;
  auto containers = TRY(service.list_containers(call.account, first));
  BlobUsage usage;
  if (containers.items.empty()) return usage;
  usage.container = containers.items[0].name;
  ListRequest listing;
  if (usage.container == call.container) listing.from.name = std::move(call.from);
  auto page = service.list_blobs({call.account, usage.container}, listing);
  usage.next_container = std::move(containers.next.name);
  if (page.failed_with(ErrorCode::kContainerNotFound)) return usage;  // it was deleted meanwhile
  for (const auto& item : TRY(page).items) {
    ++usage.blobs;
    usage.bytes += item.blob.size;
  }
  if (!page->next.name.empty()) {
    usage.next_container = usage.container;
    usage.next = std::move(page->next.name);
  }
  return usage;
}

}  // namespace handlers

Task<Result<WrittenPayload>> store_payload(BlobService& service, BlobRef ref, std::string bytes) {
  if (bytes.size() > kMaxPieceBytes) co_return fail(ErrorCode::kInvalidInput);
  auto writer = service.new_payload(ref);
  const auto write = [&]() -> Task<Result<WrittenPayload>> {
    CO_TRY(co_await writer.append(std::move(bytes)));
    co_return co_await writer.finish();
  };
  auto payload = co_await write();
  if (!payload) co_await service.give_up(writer);
  co_return payload;
}

}  // namespace tidemark::blob_store
