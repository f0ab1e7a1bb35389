// Append blobs: each block is an extent of its own, so an append costs the same however many blocks there are.
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

const FailStep kCreateEmptyStep("blob.create_empty");
const FailStep kAppendBlockStep("blob.append_block");
const FailStep kSealStep("blob.seal");

Result<void> check_position(const AppendConditions& wanted, const Blob& blob) {
  if (wanted.position && *wanted.position != blob.size) return fail(ErrorCode::kAppendPositionConditionNotMet);
  return {};
}

Result<void> admit_append(const AppendConditions& wanted, const Blob& blob, std::uint64_t size) {
  if (blob.sealed) return fail(ErrorCode::kBlobIsSealed);
  TRY(check_position(wanted, blob));
  if (wanted.max_size && blob.size + size > *wanted.max_size) return fail(ErrorCode::kMaxBlobSizeConditionNotMet);
  if (blob.appended_blocks < kMaxBlocksInList) return {};
  return fail(ErrorCode::kBlockCountExceedsLimit,
              "The committed block count cannot exceed the maximum limit of 50,000 blocks.");
}

}  // namespace

Task<Result<Stamp>> BlobService::create_empty(BlobRef ref, Blob blob, Conditions conditions) {
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        TRY(admit_write(conditions, current.blob, true, clock_.now()));
        TRY(check_replaced(current.blob, blob.type));
        TRY(drop_staged(txn, current.generation, ref.name));
        return replace(txn, current, ref.name, blob);
      },
      &kCreateEmptyStep));
  of(ref).collector.kick();
  co_return blob.version;
}

Task<Result<Blob>> BlobService::change_typed(BlobRef ref, BlobType type, Conditions conditions, TypedChange change,
                                             const FailStep& step, Versioned versioned) {
  Blob changed;
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(admit_write(conditions, current.blob, false, clock_.now()));
        if (current.blob->type != type) return fail(ErrorCode::kInvalidBlobType);
        TRY(change(txn, place.ids(), *current.blob));
        if (versioned == Versioned::kNew) current.blob->version = TRY(next_version(txn));
        put_blob_row(txn, current.generation, ref.name, current.blob->tags, *current.blob);
        changed = std::move(*current.blob);
        return {};
      },
      &step));
  co_return changed;
}

Task<Result<Stamp>> BlobService::create_append_blob(BlobRef ref, NewContent content, Conditions conditions) {
  auto blob = blob_of(CO_TRY(checked(std::move(content))), clock_.now());
  blob.type = BlobType::kAppend;
  co_return co_await create_empty(std::move(ref), std::move(blob), std::move(conditions));
}

Task<Result<AppendOutcome>> BlobService::append_block(BlobRef ref, WrittenPayload payload, AppendConditions wanted,
                                                      Conditions conditions) {
  const auto append = [&](kv::Transaction& txn, Ids ids, Blob& blob) -> Result<void> {
    TRY(admit_append(wanted, blob, payload.size));
    TRY(own_content(txn, ids, blob.content, blob.size));
    put_extent(txn, blob.content.id, {blob.size, payload.size, TRY(settle(txn, ids, payload)), 0, {}}, 0);
    blob.size += payload.size;
    ++blob.appended_blocks;
    blob.headers.md5.clear();
    return {};
  };
  const auto blob =
      CO_TRY(co_await change_typed(std::move(ref), BlobType::kAppend, std::move(conditions), append, kAppendBlockStep));
  co_return AppendOutcome{blob.version, blob.size - payload.size, blob.appended_blocks};
}

Task<Result<Stamp>> BlobService::seal_blob(BlobRef ref, AppendConditions wanted, Conditions conditions) {
  const auto seal = [&](kv::Transaction&, Ids, Blob& blob) -> Result<void> {
    TRY(check_position(wanted, blob));
    blob.sealed = true;
    return {};
  };
  const auto blob = CO_TRY(co_await change_typed(std::move(ref), BlobType::kAppend, std::move(conditions), seal,
                                                 kSealStep, Versioned::kAsBefore));
  co_return blob.version;
}

}  // namespace tidemark::blob_store
