#include "blob_store/internal/blob_dispatch.h"

#include "blob_store/client/blob_messages.h"
#include "blob_store/model/digest.h"
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_service.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

using Reply = Result<std::string>;

Reply outcome_reply(Result<WriteOutcome> done) {
  if (!done) return fail(std::move(done.error()));
  return encode_outcome(*done);
}
Reply ledger_reply(Result<OperationLedger> done) {
  if (!done) return fail(std::move(done.error()));
  return encode_ledger(*done);
}
Reply empty_reply(Result<void> done) {
  if (!done) return fail(std::move(done.error()));
  return std::string();
}

Task<Result<WrittenPayload>> store_payload(BlobService& service, std::string bytes) {
  auto writer = service.new_payload();
  auto appended = co_await writer.append(std::move(bytes));
  if (appended) {
    auto payload = co_await writer.finish();
    if (payload) co_return payload;
    appended = fail(std::move(payload.error()));
  }
  if (writer.id() != 0) {
    CO_TRY(co_await service.abandon(writer.id()));
  }
  co_return fail(std::move(appended.error()));
}

Task<Reply> ensure(BlobService& service, BlobRequest request) {
  CO_TRY(check_container_name(request.ref.container));
  auto done = co_await service.create_container(request.ref.parent(), {}, {});
  if (!done && !done.failed_with(ErrorCode::kContainerAlreadyExists)) co_return fail(std::move(done.error()));
  co_return std::string();
}

Task<Reply> put(BlobService& service, BlobRequest request) {
  CO_TRY(check_blob_name(request.ref.name));
  request.content.headers.md5 = base64_encode(md5_of(request.bytes));
  auto payload = CO_TRY(co_await store_payload(service, std::move(request.bytes)));
  auto done = co_await service.put_if_newer(std::move(request.ref), std::move(request.content), std::move(payload),
                                            std::move(request.write));
  co_return outcome_reply(std::move(done));
}

Task<Reply> stage(BlobService& service, BlobRequest request) {
  CO_TRY(check_blob_name(request.ref.name));
  auto payload = CO_TRY(co_await store_payload(service, std::move(request.bytes)));
  auto id = block_id(request.write.fence, request.number);
  auto task =
      service.stage_block(std::move(request.ref), std::move(id), std::move(payload), std::move(request.write.fence));
  auto done = co_await std::move(task);
  co_return empty_reply(std::move(done));
}

Task<Reply> publish(BlobService& service, BlobRequest request) {
  if (request.number > kMaxBlocksInList) co_return fail(ErrorCode::kInvalidInput, "A blob has at most 50,000 pieces.");
  std::vector<std::string> ids;
  for (std::uint64_t index = 0; index < request.number; ++index) ids.push_back(block_id(request.write.fence, index));
  auto done = co_await service.publish_if_newer(std::move(request.ref), std::move(ids), std::move(request.content),
                                                std::move(request.write));
  co_return outcome_reply(std::move(done));
}

Task<Reply> erase(BlobService& service, BlobRequest request) {
  auto done = co_await service.erase_unless_newer(std::move(request.ref), std::move(request.write));
  co_return outcome_reply(std::move(done));
}

Reply read_piece(const BlobService& service, const BlobRequest& request) {
  auto opened = service.open_blob(request.ref, {});
  if (opened.failed_with(ErrorCode::kBlobNotFound)) return encode_piece({});
  if (!opened) return fail(std::move(opened.error()));
  if (request.version && request.version->ticks != opened->blob.version.ticks) {
    return fail(ErrorCode::kConditionNotMet);
  }
  BlobPiece piece{opened->blob, {}};
  const auto offset = std::min<std::uint64_t>(request.number, piece.blob.size);
  const auto length = std::min<std::uint64_t>(piece.blob.size - offset, kMaxPieceBytes);
  PayloadReader reader(opened->snapshot, std::move(opened->extents), offset, length);
  while (piece.bytes.size() < length) {
    auto bytes = TRY(reader.next());
    if (bytes.empty()) return fail(ErrorCode::kCorruption);
    piece.bytes += bytes;
  }
  return encode_piece(piece);
}

Task<Reply> read(BlobService& service, BlobRequest request) { co_return read_piece(service, request); }

Task<Reply> list(BlobService& service, BlobRequest request) {
  ListRequest listing;
  listing.prefix = std::move(request.ref.name);
  listing.from = std::move(request.bytes);
  auto page = CO_TRY(service.list_blobs(request.ref.parent(), listing));
  BlobNames names;
  for (auto& item : page.items) names.names.push_back(std::move(item.name));
  names.next = std::move(page.next);
  co_return encode_names(names);
}

Task<Reply> open(BlobService& service, BlobRequest request) {
  auto done = co_await service.open_operation(std::move(request.ref.account), std::move(request.write.fence));
  co_return ledger_reply(std::move(done));
}

Task<Reply> close(BlobService& service, BlobRequest request) {
  auto done = co_await service.close_operation(std::move(request.ref.account), std::move(request.write.fence));
  co_return ledger_reply(std::move(done));
}

Task<Reply> ledger(BlobService& service, BlobRequest request) {
  co_return ledger_reply(service.read_operation(request.ref.account, request.write.fence.operation_id));
}

Task<Reply> unknown(BlobService&, BlobRequest) { co_return fail(ErrorCode::kNotImplemented); }
Task<Reply> refuse(Error error) { co_return fail(std::move(error)); }

using Handler = Task<Reply> (*)(BlobService&, BlobRequest);
constexpr std::pair<std::string_view, Handler> kHandlers[] = {
    {"blob.ensure", &ensure}, {"blob.put", &put},       {"blob.stage", &stage}, {"blob.publish", &publish},
    {"blob.erase", &erase},   {"blob.read", &read},     {"blob.list", &list},   {"blob.open", &open},
    {"blob.close", &close},   {"blob.ledger", &ledger},
};

Handler handler_of(std::string_view method) {
  for (const auto& [name, handler] : kHandlers) {
    if (name == method) return handler;
  }
  return &unknown;
}

}  // namespace

rpc::Dispatch make_blob_dispatch(BlobService& service) {
  // Not a coroutine itself: it hands out one that owns its arguments.
  return [&service](std::string method, std::string payload) -> Task<Reply> {
    auto request = decode_request(payload);
    if (!request) return refuse(std::move(request.error()));
    return handler_of(method)(service, std::move(*request));
  };
}

}  // namespace tidemark::blob_store
