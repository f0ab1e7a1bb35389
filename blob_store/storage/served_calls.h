// Which function carries out which call (client/*_calls.h, owner_calls.h), and BlobService::call().
#pragma once
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/browsing.h"
#include "blob_store/storage/owner_calls.h"

namespace tidemark::blob_store {

/// Functions that translate a call, or its result.
namespace handlers {
Task<Result<void>> ensure(BlobService& service, calls::EnsureContainer call);
Task<Result<WriteOutcome>> put(BlobService& service, calls::Put call);
Task<Result<void>> stage(BlobService& service, calls::Stage call);
Task<Result<WriteOutcome>> publish(BlobService& service, calls::Publish call);
Task<Result<WriteOutcome>> erase(BlobService& service, calls::Erase call);
Result<std::optional<BlobPiece>> read(BlobService& service, calls::Read call);
Result<BlobNames> list(BlobService& service, calls::List call);
Task<Result<WriteOutcome>> discard(BlobService& service, calls::Discard call);
Result<OlderBlobs> list_older(BlobService& service, calls::ListOlder call);
Result<BlobUsage> usage(BlobService& service, calls::Usage call);
Task<Result<void>> set_service_properties(BlobService& service, calls::SetServiceProperties call);
ChangedBlob changes_of(const Blob& blob);
}  // namespace handlers

// clang-format off
using ServedCalls = rpc::Served<
    // Containers and accounts.
    rpc::By<calls::CreateContainer, &BlobService::create_container>,
    rpc::By<calls::EnsureContainer, &handlers::ensure>,
    rpc::By<calls::DeleteContainer, &BlobService::delete_container>,
    rpc::By<calls::SetContainerMetadata, &BlobService::set_container_metadata>,
    rpc::By<calls::SetContainerAccess, &BlobService::set_container_access>,
    rpc::By<calls::LeaseContainer, &BlobService::lease_container>,
    rpc::By<calls::SetServiceProperties, &handlers::set_service_properties>,
    rpc::By<calls::Usage, &handlers::usage>,
    // Blobs.
    rpc::By<calls::PutBlob, &BlobService::put_blob>,
    rpc::By<calls::PutBlock, &BlobService::put_block>,
    rpc::By<calls::PutBlockList, &BlobService::put_block_list>,
    rpc::By<calls::CreateAppendBlob, &BlobService::create_append_blob>,
    rpc::By<calls::AppendBlock, &BlobService::append_block>,
    rpc::By<calls::SealBlob, &BlobService::seal_blob>,
    rpc::By<calls::CreatePageBlob, &BlobService::create_page_blob>,
    rpc::By<calls::PutPages, &BlobService::put_pages, &handlers::changes_of>,
    rpc::By<calls::ClearPages, &BlobService::clear_pages, &handlers::changes_of>,
    rpc::By<calls::SetPageProperties, &BlobService::set_page_properties, &handlers::changes_of>,
    rpc::By<calls::SetHeaders, &BlobService::set_headers, &handlers::changes_of>,
    rpc::By<calls::SetMetadata, &BlobService::set_metadata, &handlers::changes_of>,
    rpc::By<calls::DeleteBlob, &BlobService::delete_blob>,
    rpc::By<calls::UndeleteBlob, &BlobService::undelete_blob>,
    rpc::By<calls::SnapshotBlob, &BlobService::snapshot_blob>,
    rpc::By<calls::CopyBlob, &BlobService::copy_blob>,
    rpc::By<calls::LeaseBlob, &BlobService::lease_blob>,
    rpc::By<calls::SetTags, &BlobService::set_tags>,
    rpc::By<calls::SetTier, &BlobService::set_tier>,
    // Blobs, for workers.
    rpc::By<calls::Put, &handlers::put>,
    rpc::By<calls::Stage, &handlers::stage>,
    rpc::By<calls::Publish, &handlers::publish>,
    rpc::By<calls::Erase, &handlers::erase>,
    rpc::By<calls::Discard, &handlers::discard>,
    rpc::By<calls::Read, &handlers::read>,
    rpc::By<calls::List, &handlers::list>,
    rpc::By<calls::ListOlder, &handlers::list_older>,
    rpc::By<calls::OpenOperation, &BlobService::open_operation>,
    rpc::By<calls::CloseOperation, &BlobService::close_operation>,
    rpc::By<calls::ReadOperation, &BlobService::read_operation>,
    // Blobs, for people.
    rpc::By<calls::Containers, &handlers::containers>,
    rpc::By<calls::RemoveContainer, &handlers::remove_container>,
    rpc::By<calls::Policies, &handlers::policies>,
    rpc::By<calls::SetPolicies, &handlers::set_policies>,
    rpc::By<calls::Browse, &handlers::browse>,
    rpc::By<calls::Inspect, &handlers::inspect>,
    rpc::By<calls::UploadPiece, &handlers::upload_piece>,
    rpc::By<calls::FinishUpload, &handlers::finish_upload>,
    rpc::By<calls::RemoveBlob, &handlers::remove_blob>,
    // The shards.
    rpc::By<shards::calls::ChangeLedger, &BlobService::change_ledger>,
    rpc::By<shards::calls::FollowMark, &shards::follow_mark<BlobService>>,
    rpc::By<shards::calls::FinishChange, &shards::finish_change<BlobService>>,
    // Payloads.
    rpc::By<calls::RegisterPayload, &BlobService::register_payload>,
    rpc::By<calls::AbandonPayloads, &BlobService::abandon_payloads>,
    rpc::By<calls::KeepContent, &BlobService::keep_content>,
    rpc::By<calls::LetGo, &BlobService::let_go>>;
// clang-format on

template <class Call>
Task<Result<typename Call::Reply>> BlobService::call(Call call) {
  if constexpr (requires { call.place(); }) {
    shards::CallPlace place{.shard = shard_at(call.place()), .deadline = shards::kLongestCall};
    if constexpr (requires { Call::kDeadline; }) place.deadline = Call::kDeadline;
    return shards::carry_out_at<ServedCalls>(*this, shards_.size(), peers(), place, std::move(call));
  } else {
    return ServedCalls::carry_out<Call>(*this, std::move(call));
  }
}

}  // namespace tidemark::blob_store
