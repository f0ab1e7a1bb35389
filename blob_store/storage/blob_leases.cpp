// Leases of blobs. They change neither ETag nor Last-Modified.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"

namespace tidemark::blob_store {
namespace {

const FailStep kLeaseBlobStep("blob.lease_blob");

}  // namespace

Task<Result<LeaseOutcome>> BlobService::lease_blob(BlobRef ref, LeaseRequest request, Conditions conditions) {
  LeaseOutcome outcome;
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(check_existing(conditions, *current.blob));
        outcome = {TRY(act(current.blob->lease, request, clock_.now())), current.blob->version};
        put_blob_row(txn, current.generation, ref.name, current.blob->tags, *current.blob);
        return {};
      },
      &kLeaseBlobStep));
  co_return outcome;
}

}  // namespace tidemark::blob_store
