#include "blob_store/internal/blob_dispatch.h"

#include "blob_store/client/blob_calls.h"
#include "blob_store/internal/browse_dispatch.h"
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_service.h"
#include "common/base/bytes.h"
#include "common/base/encoding.h"
#include "common/rpc/call.h"

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

using Face = rpc::Face<BlobService>;
constexpr Face::Handler kHandlers[] = {
    Face::on<calls::EnsureContainer, &ensure>(),
    Face::on<calls::Put, &put>(),
    Face::on<calls::Stage, &stage>(),
    Face::on<calls::Publish, &publish>(),
    Face::on<calls::Erase, &erase>(),
    Face::on<calls::Read, &read>(),
    Face::on<calls::List, &list>(),
    Face::on<calls::ListOlder, &list_older>(),
    Face::on<calls::Discard, &discard>(),
    Face::on<calls::Usage, &usage>(),
    Face::on<calls::OpenOperation, &BlobService::open_operation>(),
    Face::on<calls::CloseOperation, &BlobService::close_operation>(),
    Face::on<calls::ReadOperation, &BlobService::read_operation>(),
    Face::on<calls::Containers, &containers>(),
    Face::on<calls::Browse, &browse>(),
    Face::on<calls::Inspect, &inspect>(),
    Face::on<calls::UploadPiece, &upload_piece>(),
    Face::on<calls::FinishUpload, &finish_upload>(),
    Face::on<calls::RemoveBlob, &remove_blob>(),
};

/// Calls whose first fields are an account, a container and a blob.
constexpr std::string_view kOfBlob[] = {
    calls::Put::kMethod,          calls::Stage::kMethod,      calls::Publish::kMethod, calls::Erase::kMethod,
    calls::Read::kMethod,         calls::Discard::kMethod,    calls::Inspect::kMethod, calls::UploadPiece::kMethod,
    calls::FinishUpload::kMethod, calls::RemoveBlob::kMethod,
};
/// Calls whose first fields are an account and an operation.
constexpr std::string_view kOfOperation[] = {calls::OpenOperation::kMethod, calls::CloseOperation::kMethod};

}  // namespace

std::optional<std::size_t> shard_of_call(const BlobService& service, std::string_view method,
                                         std::string_view payload) {
  if (method == calls::EnsureContainer::kMethod) return 0;
  const bool of_blob = std::ranges::find(kOfBlob, method) != std::end(kOfBlob);
  const bool of_operation = std::ranges::find(kOfOperation, method) != std::end(kOfOperation);
  if (!of_blob && !of_operation) return std::nullopt;
  ByteReader in(payload);
  const std::string account(in.string());
  const std::string second(in.string());  // a container or an operation
  const auto name = blob_name_of(std::string(of_blob ? in.string() : std::string_view()));
  if (!in.ok()) return std::nullopt;  // the process that answers the call reports the error
  return of_blob ? service.shard_of({account, second, name}) : service.home_of(account, second);
}

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

rpc::Dispatch make_blob_dispatch(BlobService& service) { return rpc::make_dispatch(service, kHandlers); }

}  // namespace tidemark::blob_store
