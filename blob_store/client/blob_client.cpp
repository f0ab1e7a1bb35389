#include "blob_store/client/blob_client.h"

#include "blob_store/client/blob_messages.h"

namespace tidemark::blob_store {
namespace {
constexpr Duration kDeadline = std::chrono::seconds(20);
}

Task<Result<std::string>> BlobClient::call(std::string method, std::string payload) {
  co_return co_await transport_.call(std::move(method), std::move(payload), kDeadline);
}

Task<Result<WriteOutcome>> BlobClient::call_for_outcome(std::string method, std::string payload) {
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_outcome(reply);
}

Task<Result<OperationLedger>> BlobClient::call_for_ledger(std::string method, std::string payload) {
  auto reply = CO_TRY(co_await call(std::move(method), std::move(payload)));
  co_return decode_ledger(reply);
}

Task<Result<void>> BlobClient::ensure_container(std::string container) {
  BlobRequest request;
  request.ref = {account_, std::move(container), {}};
  CO_TRY(co_await call("blob.ensure", encode(request)));
  co_return Result<void>{};
}

Task<Result<WriteOutcome>> BlobClient::put(std::string container, std::string name, NewContent content,
                                           std::string bytes, FencedWrite write) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(name)};
  request.content = std::move(content);
  request.write = std::move(write);
  request.bytes = std::move(bytes);
  return call_for_outcome("blob.put", encode(request));
}

Task<Result<void>> BlobClient::stage(std::string container, std::string name, std::uint32_t index, std::string bytes,
                                     Fence fence) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(name)};
  request.write.fence = std::move(fence);
  request.number = index;
  request.bytes = std::move(bytes);
  CO_TRY(co_await call("blob.stage", encode(request)));
  co_return Result<void>{};
}

Task<Result<WriteOutcome>> BlobClient::publish(std::string container, std::string name, std::uint32_t count,
                                               NewContent content, FencedWrite write) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(name)};
  request.content = std::move(content);
  request.write = std::move(write);
  request.number = count;
  return call_for_outcome("blob.publish", encode(request));
}

Task<Result<WriteOutcome>> BlobClient::erase(std::string container, std::string name, FencedWrite write) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(name)};
  request.write = std::move(write);
  return call_for_outcome("blob.erase", encode(request));
}

Task<Result<std::optional<BlobPiece>>> BlobClient::read(std::string container, std::string name, std::uint64_t offset,
                                                        std::optional<Version> version) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(name)};
  request.number = offset;
  request.version = version;
  auto reply = CO_TRY(co_await call("blob.read", encode(request)));
  co_return decode_piece(reply);
}

Task<Result<BlobNames>> BlobClient::list(std::string container, std::string prefix, std::string from) {
  BlobRequest request;
  request.ref = {account_, std::move(container), std::move(prefix)};
  request.bytes = std::move(from);
  auto reply = CO_TRY(co_await call("blob.list", encode(request)));
  co_return decode_names(reply);
}

Task<Result<OperationLedger>> BlobClient::open_operation(std::string operation_id, std::uint64_t epoch) {
  BlobRequest request;
  request.ref.account = account_;
  request.write.fence = {std::move(operation_id), epoch, {}};
  return call_for_ledger("blob.open", encode(request));
}

Task<Result<OperationLedger>> BlobClient::close_operation(std::string operation_id, std::uint64_t epoch) {
  BlobRequest request;
  request.ref.account = account_;
  request.write.fence = {std::move(operation_id), epoch, {}};
  return call_for_ledger("blob.close", encode(request));
}

Task<Result<OperationLedger>> BlobClient::read_operation(std::string operation_id) {
  BlobRequest request;
  request.ref.account = account_;
  request.write.fence = {std::move(operation_id), 0, {}};
  return call_for_ledger("blob.ledger", encode(request));
}

}  // namespace tidemark::blob_store
