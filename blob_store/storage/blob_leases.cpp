// Leases of blobs and containers. Neither ETag nor Last-Modified changes with them.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"

namespace tidemark::blob_store {
namespace {

const FailStep kLeaseBlobStep("blob.lease_blob");
const FailStep kLeaseContainerStep("blob.lease_container");

}  // namespace

Task<Result<LeaseOutcome>> BlobService::lease_blob(BlobRef ref, LeaseRequest request, Conditions conditions) {
  LeaseOutcome outcome;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(check_existing(conditions, *current.blob));
        outcome = {TRY(act(current.blob->lease, request, clock_.now())), current.blob->version};
        put_blob_row(txn, current.generation, ref.name, current.blob->tags, *current.blob);
        return {};
      },
      &kLeaseBlobStep));
  co_return outcome;
}

Task<Result<LeaseOutcome>> BlobService::lease_container(ContainerRef ref, LeaseRequest request, Conditions conditions) {
  LeaseOutcome outcome;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto container = TRY(find_container(txn, ref));
        TRY(check_write(conditions, &container.version, false));
        outcome = {TRY(act(container.lease, request, clock_.now())), container.version};
        txn.put(blob_keys::container(ref.account, ref.name), records::kContainer.encode(container));
        return {};
      },
      &kLeaseContainerStep));
  co_return outcome;
}

}  // namespace tidemark::blob_store
