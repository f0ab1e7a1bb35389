// The handlers of the calls by which people look at blobs and change them (client/browse_calls.h).
#pragma once
#include "blob_store/client/browse_calls.h"
#include "blob_store/storage/blob_service.h"

namespace tidemark::blob_store {
namespace handlers {

Result<ContainerPage> containers(BlobService& service, calls::Containers call);
Task<Result<void>> remove_container(BlobService& service, calls::RemoveContainer call);
Result<StoredPolicies> policies(BlobService& service, calls::Policies call);
Task<Result<void>> set_policies(BlobService& service, calls::SetPolicies call);
Result<BrowsedPage> browse(BlobService& service, calls::Browse call);
Result<BlobFacts> inspect(BlobService& service, calls::Inspect call);
Task<Result<void>> upload_piece(BlobService& service, calls::UploadPiece call);
Task<Result<void>> finish_upload(BlobService& service, calls::FinishUpload call);
Task<Result<void>> remove_blob(BlobService& service, calls::RemoveBlob call);

}  // namespace handlers

/// Stores at most kMaxPieceBytes for this blob. Defined in served_calls.cpp.
Task<Result<WrittenPayload>> store_payload(BlobService& service, BlobRef ref, std::string bytes);

}  // namespace tidemark::blob_store
