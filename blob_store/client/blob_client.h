// The blob store as the workers and the api see it. Calls go through an rpc::Transport; a call that fails with
// kDeadlineExceeded or kUnavailable may have taken effect or not, and every write may be repeated. Content is sent in
// pieces of at most kMaxPieceBytes. Larger blobs are staged in pieces and published at once, so no partial blob is
// visible.
#pragma once
#include <memory>

#include "blob_store/client/blob_calls.h"
#include "common/rpc/call.h"

namespace tidemark::blob_store {

class BlobClient {
  rpc::Caller caller_;

 public:
  /// Calls as `account`; the transport must outlive the client.
  BlobClient(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(20)} {}
  BlobClient(const BlobClient&) = delete;
  BlobClient& operator=(const BlobClient&) = delete;

  [[nodiscard]] const std::string& account() const { return caller_.account; }
  /// Returns a client of the same store for another account.
  [[nodiscard]] std::shared_ptr<BlobClient> as(std::string account) const {
    return std::make_shared<BlobClient>(caller_.transport, std::move(account));
  }

  /// Succeeds if the container exists already.
  rpc::Method<calls::EnsureContainer> ensure_container{caller_};
  /// Writes the whole content at once, at most kMaxPieceBytes.
  rpc::Method<calls::Put> put{caller_};
  /// Stages a piece of a future blob. It never mixes with pieces of other epochs, because block ids contain the fence.
  rpc::Method<calls::Stage> stage{caller_};
  /// Publishes the pieces 0 to count-1 that were staged under this fence. kInvalidBlockList: stage them again.
  rpc::Method<calls::Publish> publish{caller_};
  rpc::Method<calls::Erase> erase{caller_};
  /// Reads up to kMaxPieceBytes from `offset`; returns nothing if there is no such blob. kConditionNotMet if `version`
  /// is given and the blob now has another one.
  rpc::Method<calls::Read> read{caller_};
  rpc::Method<calls::List> list{caller_};
  rpc::Method<calls::Discard> discard{caller_};
  rpc::Method<calls::ListOlder> list_older{caller_};
  rpc::Method<calls::OpenOperation> open_operation{caller_};
  rpc::Method<calls::CloseOperation> close_operation{caller_};
  rpc::Method<calls::ReadOperation> read_operation{caller_};
  /// Closes the operation for every epoch. Waits for the store only this long; for callers that can try again later.
  Task<Result<OperationLedger>> close_for_good(std::string id, std::uint64_t since, Duration wait) {
    return rpc::call(caller_.transport, calls::CloseOperation{caller_.account, std::move(id), INT64_MAX, since}, wait);
  }
};

}  // namespace tidemark::blob_store
