// The blob store as the workers and the api see it. Calls cross a rpc::Transport: kDeadlineExceeded and kUnavailable do
// not tell whether they took effect; every write may be repeated. Content crosses in pieces of at most kMaxPieceBytes;
// larger blobs are staged piece by piece and published at once, so that no partial blob is ever visible.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "blob_store/client/blob_calls.h"
#include "common/rpc/transport.h"

namespace tidemark::blob_store {

class BlobClient {
 public:
  /// Calls as `account`; the transport must outlive the client.
  BlobClient(rpc::Transport& transport, std::string account) : transport_(transport), account_(std::move(account)) {}

  /// Succeeds if the container exists already.
  Task<Result<void>> ensure_container(std::string container);
  /// The whole content at once; at most kMaxPieceBytes.
  Task<Result<WriteOutcome>> put(std::string container, std::string name, NewContent content, std::string bytes,
                                 FencedWrite write);
  /// One piece of a blob to be. Pieces of other epochs never mix with it: the id of the block is made of the fence.
  Task<Result<void>> stage(std::string container, std::string name, std::uint32_t index, std::string bytes,
                           Fence fence);
  /// Makes the blob of pieces 0 to count-1 as staged under this fence. kInvalidBlockList: stage them again.
  Task<Result<WriteOutcome>> publish(std::string container, std::string name, std::uint32_t count, NewContent content,
                                     FencedWrite write);
  Task<Result<WriteOutcome>> erase(std::string container, std::string name, FencedWrite write);
  /// At most kMaxPieceBytes from `offset` on; nothing if there is no such blob. kConditionNotMet if `version` is given
  /// and the blob has another one now.
  Task<Result<std::optional<BlobPiece>>> read(std::string container, std::string name, std::uint64_t offset,
                                              std::optional<Stamp> version);
  Task<Result<BlobNames>> list(std::string container, std::string prefix, std::string from);
  Task<Result<OperationLedger>> open_operation(std::string operation_id, std::uint64_t epoch);
  Task<Result<OperationLedger>> close_operation(std::string operation_id, std::uint64_t epoch);
  Task<Result<OperationLedger>> read_operation(std::string operation_id);

 private:
  [[nodiscard]] BlobRef ref(std::string container, std::string name) const;
  rpc::Transport& transport_;
  std::string account_;
};

}  // namespace tidemark::blob_store
