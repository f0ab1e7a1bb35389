// Copies within the store. If source and destination are on one shard, the copy shares the content, whatever its size
// (storage/contents.h), in a transaction that reads the source and writes the destination. Between shards, the bytes
// that the source has at the beginning are copied first, and then one transaction publishes them. In both cases a copy
// has ended when the request is answered.
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/copied_content.h"
#include "common/base/query.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCopyBlobStep("blob.copy_blob");

Result<void> check_source(const CopyRequest& request, const Blob& source) {
  auto met = check_existing(request.source_conditions, source);
  if (met.failed_with(ErrorCode::kConditionNotMet)) return fail(ErrorCode::kSourceConditionNotMet);
  if (!met) return met;
  return is_archived(source) && !request.rehydrates ? fail(ErrorCode::kBlobArchived) : Result<void>();
}

/// Checks whether a copy of this source may replace the current blob.
Result<void> check_target(const CopyRequest& request, const Blob& source, const Conditions& conditions,
                          std::optional<Blob>& current, Time now) {
  TRY(admit_write(conditions, current, true, now));
  const auto type = request.as_new_block_blob ? BlobType::kBlock : source.type;
  TRY(check_replaced(current, type));
  if (request.needs_endless_lease && current && current->lease.locked(now) && current->lease.duration_s >= 0) {
    return fail(ErrorCode::kInfiniteLeaseDurationRequired);
  }
  if (!request.tier.empty() && !may_have_tier(type, request.tier)) {
    return fail(ErrorCode::kInvalidHeaderValue, "A blob of this type cannot be in this tier.");
  }
  // A block blob has no holes.
  if (request.as_new_block_blob && source.type == BlobType::kPage) return fail(ErrorCode::kInvalidBlobType);
  return {};
}

/// Returns the copy, except for the fields that depend on its destination.
Blob copy_of(const CopyRequest& request, const Blob& source, const std::string& id, Time now) {
  auto blob = blob_of({headers_of_copy(request, source.headers), request.metadata.value_or(source.metadata),
                       request.tags.value_or(Tags()), request.tier},
                      now);
  if (request.copy_tags) blob.tags = source.tags;
  blob.type = request.as_new_block_blob ? BlobType::kBlock : source.type;
  blob.size = source.size;
  blob.content = source.content;
  blob.appended_blocks = source.appended_blocks;
  blob.sequence_number = source.sequence_number;
  blob.sealed = blob.type == BlobType::kAppend && request.sealed.value_or(source.sealed);
  if (!request.as_new_block_blob) blob.copy = CopyState{id, without_signature(request.source_url), now};
  if (blob.headers.md5.empty()) blob.headers.md5 = source.headers.md5;
  return blob;
}

}  // namespace

ContentHeaders headers_of_copy(const CopyRequest& request, const ContentHeaders& source) {
  auto headers = request.headers;
  if (request.own_headers) return headers;
  for (auto header : {&ContentHeaders::type, &ContentHeaders::encoding, &ContentHeaders::language,
                      &ContentHeaders::disposition, &ContentHeaders::cache_control, &ContentHeaders::md5}) {
    if ((headers.*header).empty()) headers.*header = source.*header;
  }
  return headers;
}

Task<Result<CopyOutcome>> BlobService::copy_blob(CopyRequest request, BlobRef ref, Conditions conditions) {
  CO_TRY(check_content_headers(request.headers));
  if (request.metadata) CO_TRY(check_metadata(*request.metadata));
  CO_TRY(check_blob_name(ref.name));
  const bool together = &of(request.source) == &of(ref);
  co_return together ? co_await copy_shared(std::move(request), std::move(ref), std::move(conditions))
                     : co_await copy_bytes(std::move(request), std::move(ref), std::move(conditions));
}

Task<Result<CopyOutcome>> BlobService::copy_shared(CopyRequest request, BlobRef ref, Conditions conditions) {
  CopyOutcome outcome;
  const auto id = random_.guid();
  const auto copy = [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
    const auto generation = TRY(find_generation(txn, place, request.source.parent()));
    auto source = TRY(find_version(txn, generation, request.source));
    if (!source) return fail(ErrorCode::kBlobNotFound);
    TRY(check_source(request, *source));
    auto current = TRY(find_current(txn, place, ref));
    TRY(check_target(request, *source, conditions, current.blob, clock_.now()));
    TRY(check_sharable(txn, *source));
    TRY(share(txn, source->content));
    put_version(txn, generation, request.source, *source);
    // The destination is the source itself, or already has the same content.
    if (current.blob && current.blob->content.id == source->content.id) current.blob->content.shared = true;
    auto blob = copy_of(request, *source, id, clock_.now());
    TRY(drop_staged(txn, current.generation, ref.name));
    TRY(replace(txn, current, ref.name, blob));
    outcome = {blob.version, id, blob.headers.md5};
    return {};
  };
  CO_TRY(co_await change_settled(ref, copy, kCopyBlobStep, request.source));
  of(ref).collector.kick();
  co_return outcome;
}

Task<Result<CopyOutcome>> BlobService::copy_bytes(CopyRequest request, BlobRef ref, Conditions conditions) {
  CO_TRY(check_source(request, CO_TRY(get_blob(request.source, {}))));
  const auto source = CO_TRY(co_await open_anywhere(request.source, {}, request.rehydrates));
  CO_TRY(check_source(request, source.blob));
  auto replaced = CO_TRY(current_blob(ref));
  CO_TRY(check_target(request, source.blob, conditions, replaced, clock_.now()));
  auto writer = new_payload(ref);
  const auto copied = co_await copy_content(source.content, writer);
  if (!copied) {
    co_await give_up(writer);
    // A process that has gained the source's shard meanwhile does not know of this read.
    const auto now = get_blob(request.source, {});
    const bool changed = !now || now->version.ticks != source.blob.version.ticks;
    co_return changed ? fail(ErrorCode::kServerBusy, "The source was changed while it was copied.")
                      : fail(copied.error());
  }
  CopyOutcome outcome;
  const auto id = random_.guid();
  auto done = co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        TRY(check_target(request, source.blob, conditions, current.blob, clock_.now()));
        auto blob = copy_of(request, source.blob, id, clock_.now());
        blob.content = TRY(settle(txn, place.ids(), *copied));
        TRY(drop_staged(txn, current.generation, ref.name));
        TRY(replace(txn, current, ref.name, blob));
        outcome = {blob.version, id, blob.headers.md5};
        return {};
      },
      &kCopyBlobStep);
  if (!done) abandon(copied->payload.id);
  CO_TRY(std::move(done));
  of(ref).collector.kick();
  co_return outcome;
}

}  // namespace tidemark::blob_store
