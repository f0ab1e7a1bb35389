#include "blob_store/client/blob_client.h"

#include "common/rpc/call.h"

namespace tidemark::blob_store {
namespace {
constexpr Duration kDeadline = std::chrono::seconds(20);
}

BlobRef BlobClient::ref(std::string container, std::string name) const {
  return {account_, std::move(container), std::move(name)};
}

Task<Result<void>> BlobClient::ensure_container(std::string container) {
  return rpc::call(transport_, calls::EnsureContainer{{account_, std::move(container)}}, kDeadline);
}

Task<Result<WriteOutcome>> BlobClient::put(std::string container, std::string name, NewContent content,
                                           std::string bytes, FencedWrite write) {
  const calls::Put put{ref(std::move(container), std::move(name)), std::move(content), std::move(write),
                       std::move(bytes)};
  return rpc::call(transport_, put, kDeadline);
}

Task<Result<void>> BlobClient::stage(std::string container, std::string name, std::uint32_t index, std::string bytes,
                                     Fence fence) {
  const calls::Stage stage{ref(std::move(container), std::move(name)), std::move(fence), index, std::move(bytes)};
  return rpc::call(transport_, stage, kDeadline);
}

Task<Result<WriteOutcome>> BlobClient::publish(std::string container, std::string name, std::uint32_t count,
                                               NewContent content, FencedWrite write) {
  const calls::Publish publish{ref(std::move(container), std::move(name)), count, std::move(content), std::move(write)};
  return rpc::call(transport_, publish, kDeadline);
}

Task<Result<WriteOutcome>> BlobClient::erase(std::string container, std::string name, FencedWrite write) {
  return rpc::call(transport_, calls::Erase{ref(std::move(container), std::move(name)), std::move(write)}, kDeadline);
}

Task<Result<std::optional<BlobPiece>>> BlobClient::read(std::string container, std::string name, std::uint64_t offset,
                                                        std::optional<Stamp> version) {
  return rpc::call(transport_, calls::Read{ref(std::move(container), std::move(name)), offset, version}, kDeadline);
}

Task<Result<BlobNames>> BlobClient::list(std::string container, std::string prefix, std::string from) {
  const calls::List list{{account_, std::move(container)}, std::move(prefix), std::move(from)};
  return rpc::call(transport_, list, kDeadline);
}

Task<Result<OperationLedger>> BlobClient::open_operation(std::string operation_id, std::uint64_t epoch) {
  return rpc::call(transport_, calls::OpenOperation{account_, {std::move(operation_id), epoch, {}}}, kDeadline);
}

Task<Result<OperationLedger>> BlobClient::close_operation(std::string operation_id, std::uint64_t epoch) {
  return rpc::call(transport_, calls::CloseOperation{account_, {std::move(operation_id), epoch, {}}}, kDeadline);
}

Task<Result<OperationLedger>> BlobClient::read_operation(std::string operation_id) {
  return rpc::call(transport_, calls::ReadOperation{account_, std::move(operation_id)}, kDeadline);
}

}  // namespace tidemark::blob_store
