// The blobs of an account as the api shows them to people. Content is read and uploaded in pieces of at most
// kMaxPieceBytes; an upload has a name of its own (a GUID), and is visible only when it is finished. The pieces of an
// upload that is never finished expire like staged blocks. Errors are those of the public endpoint.
#pragma once
#include "blob_store/client/blob_calls.h"
#include "blob_store/client/browse_calls.h"
#include "common/rpc/call.h"

namespace tidemark::blob_store {

class BlobBrowser {
  rpc::Caller caller_;

 public:
  /// Calls as `account`; the transport must outlive it.
  BlobBrowser(rpc::Transport& transport, std::string account)
      : caller_{transport, std::move(account), std::chrono::seconds(20)} {}
  BlobBrowser(const BlobBrowser&) = delete;
  BlobBrowser& operator=(const BlobBrowser&) = delete;

  rpc::Method<calls::Containers> containers{caller_};
  rpc::Method<calls::EnsureContainer> ensure_container{caller_};
  /// Also removes its blobs. kContainerNotFound, kLeaseIdMissing.
  rpc::Method<calls::RemoveContainer> remove_container{caller_};
  rpc::Method<calls::Policies> policies{caller_};
  rpc::Method<calls::SetPolicies> set_policies{caller_};
  rpc::Method<calls::Browse> browse{caller_};
  rpc::Method<calls::Inspect> inspect{caller_};
  rpc::Method<calls::Read> read{caller_};
  rpc::Method<calls::UploadPiece> upload_piece{caller_};
  /// kBlobAlreadyExists, kConditionNotMet; kInvalidBlockList if another upload of this blob has finished meanwhile.
  rpc::Method<calls::FinishUpload> finish_upload{caller_};
  /// kConditionNotMet, kSnapshotsPresent.
  rpc::Method<calls::RemoveBlob> remove{caller_};
};

}  // namespace tidemark::blob_store
