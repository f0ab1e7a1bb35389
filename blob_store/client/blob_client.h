// The blob store as the workers and the api see it. Calls cross a rpc::Transport; one that fails with kDeadlineExceeded
// or kUnavailable may have taken effect or not, and every write may be repeated. Content is sent in pieces of at most
// kMaxPieceBytes. Larger blobs are staged piece by piece and published at once, so no partial blob is ever visible.
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
  /// Writes the whole content at once; at most kMaxPieceBytes.
  Task<Result<WriteOutcome>> put(std::string container, std::string name, NewContent content, std::string bytes,
                                 FencedWrite write);
  /// Stages a piece of a future blob. It never mixes with pieces of other epochs, because block ids contain the fence.
  Task<Result<void>> stage(std::string container, std::string name, std::uint32_t index, std::string bytes,
                           Fence fence);
  /// Publishes the pieces 0 to count-1 that were staged under this fence. kInvalidBlockList: stage them again.
  Task<Result<WriteOutcome>> publish(std::string container, std::string name, std::uint32_t count, NewContent content,
                                     FencedWrite write);
  Task<Result<WriteOutcome>> erase(std::string container, std::string name, FencedWrite write);
  /// Reads up to kMaxPieceBytes from `offset`; nothing if there is no such blob. kConditionNotMet if `version` is given
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
