// Copies within the store: the copy shares the content of its source, whatever its size (storage/contents.h). Reads one
// blob and writes another one in a transaction, so this is for blobs of one store.
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCopyBlobStep("blob.copy_blob");

Result<void> check_source(const Conditions& conditions, const Blob& source) {
  auto met = check_existing(conditions, source);
  if (met.failed_with(ErrorCode::kConditionNotMet)) return fail(ErrorCode::kSourceConditionNotMet);
  if (!met) return met;
  return is_archived(source) ? fail(ErrorCode::kBlobArchived) : Result<void>();
}

}  // namespace

Task<Result<CopyOutcome>> BlobService::copy_blob(CopyRequest request, BlobRef ref, Conditions conditions) {
  if (request.metadata) CO_TRY(check_metadata(*request.metadata));
  CO_TRY(check_blob_name(ref.name));
  CopyOutcome outcome;
  const auto id = random_.guid();
  CO_TRY(co_await change_settled(
      request.source,
      [&](kv::Transaction& txn) -> Result<void> {
        const auto generation = TRY(find_container(txn, request.source.parent())).generation;
        auto source = TRY(find_version(txn, generation, request.source));
        if (!source) return fail(ErrorCode::kBlobNotFound);
        TRY(check_source(request.source_conditions, *source));
        auto current = TRY(find_current(txn, ref));
        TRY(admit_write(conditions, current.blob, true, clock_.now()));
        const auto type = request.as_new_block_blob ? BlobType::kBlock : source->type;
        if (current.blob && current.blob->type != type && !request.as_new_block_blob) {
          return fail(ErrorCode::kInvalidBlobType);
        }
        // A block blob has no holes.
        if (request.as_new_block_blob && source->type == BlobType::kPage) return fail(ErrorCode::kInvalidBlobType);
        TRY(check_sharable(txn, *source));
        TRY(share(txn, source->content));
        put_version(txn, generation, request.source, *source);
        // Onto itself, or onto what has the same content already.
        if (current.blob && current.blob->content.id == source->content.id) current.blob->content.shared = true;
        auto blob = blob_of({request.headers.value_or(source->headers), request.metadata.value_or(source->metadata),
                             request.tags.value_or(Tags()), request.tier},
                            clock_.now());
        if (request.copy_tags) blob.tags = source->tags;
        blob.type = type;
        blob.size = source->size;
        blob.content = source->content;
        blob.appended_blocks = source->appended_blocks;
        blob.sequence_number = source->sequence_number;
        blob.sealed = request.sealed.value_or(source->sealed && !request.as_new_block_blob);
        if (!request.as_new_block_blob) blob.copy = CopyState{id, request.source_url, clock_.now()};
        if (blob.headers.md5.empty()) blob.headers.md5 = source->headers.md5;
        TRY(drop_staged(txn, current.generation, ref.name));
        TRY(replace(txn, current, ref.name, blob));
        outcome = {blob.version, id, blob.headers.md5};
        return {};
      },
      kCopyBlobStep));
  collector_.kick();
  co_return outcome;
}

}  // namespace tidemark::blob_store
