// Snapshots, and blobs that are deleted or replaced while the account retains them ("soft delete").
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_retention.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/kept_blobs.h"
#include "common/protocol/service_properties.h"

namespace tidemark::blob_store {
namespace {

const FailStep kSnapshotStep("blob.snapshot");
const FailStep kDeleteBlobStep("blob.delete_blob");
const FailStep kUndeleteStep("blob.undelete");

/// Returns for how many days blobs that this transaction deletes are retained.
Result<std::uint32_t> days_for(const kv::Transaction& txn, const ShardPlace& place, std::string_view account) {
  if (place.shard > 0) return place.retained_days;
  return retained_days(TRY(txn.get(blob_keys::service_properties(account))));
}

}  // namespace

Result<std::uint32_t> retained_days(const std::optional<std::string>& properties) {
  if (!properties || properties->find("<DeleteRetentionPolicy><Enabled>true") == std::string::npos) return 0;
  const auto parsed = TRY(protocol::parse_service_properties(protocol::StoreKind::kBlob, *properties));
  const auto& retention = parsed.delete_retention;
  return retention && retention->enabled ? retention->days : 0;
}

Result<void> BlobService::discard(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                  bool as_snapshot) const {
  const auto days = TRY(days_for(txn, current.place, current.account));
  if (days == 0) return release(txn, current.blob->content);
  KeptBlob kept{*current.blob, as_snapshot, clock_.now(), days};
  kept.blob.lease = {};
  KeptBlobs(current.generation, name).retain(txn, TRY(next_version(txn)), kept);
  return {};
}

Task<Result<void>> BlobService::change_settled(BlobRef ref, BlobBody change, const FailStep& step,
                                               std::optional<BlobRef> kept) {
  const auto& settles = kept ? *kept : ref;
  for (bool settled = false; !settled;) {
    CO_TRY(co_await transact(
        ref,
        [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
          const auto generation = TRY(find_generation(txn, place, settles.parent()));
          settled = !TRY(KeptBlobs(generation, settles.name).settle_some(txn));
          return settled ? change(txn, place) : Result<void>();
        },
        &step, settles.parent()));
  }
  co_return Result<void>{};
}

Task<Result<SnapshotOutcome>> BlobService::snapshot_blob(BlobRef ref, std::optional<Metadata> metadata,
                                                         Conditions conditions) {
  if (metadata) CO_TRY(check_metadata(*metadata));
  SnapshotOutcome outcome;
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        auto& blob = *current.blob;
        TRY(check_lease_of_read(blob.lease, conditions.lease_id, clock_.now(), Leased::kBlob));
        TRY(check_existing(conditions, blob));
        if (is_archived(blob)) return fail(ErrorCode::kBlobArchived);
        TRY(check_sharable(txn, blob));
        TRY(share(txn, blob.content));
        put_blob_row(txn, current.generation, ref.name, blob.tags, blob);
        if (metadata) blob.metadata = *metadata;
        outcome = {TRY(next_version(txn)), blob.version};
        KeptBlobs(current.generation, ref.name).put_snapshot(txn, outcome.snapshot, blob);
        return {};
      },
      &kSnapshotStep));
  co_return outcome;
}

Result<void> BlobService::drop_snapshot(kv::Transaction& txn, const CurrentBlob& current, const BlobRef& ref,
                                        const Conditions& conditions, std::uint32_t days) const {
  const KeptBlobs kept(current.generation, ref.name);
  auto snapshot = TRY(kept.find_snapshot(txn, *ref.snapshot));
  if (!snapshot) return fail(ErrorCode::kBlobNotFound);
  TRY(check_existing(conditions, *snapshot));
  return kept.drop_snapshot(txn, *ref.snapshot, std::move(*snapshot), clock_.now(), days);
}

Result<void> BlobService::drop_snapshots(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                         DeleteSnapshots wanted, std::uint32_t days) const {
  const KeptBlobs kept(current.generation, name);
  if (wanted != DeleteSnapshots::kNone) {
    const auto what = days == 0 ? KeptMark::What::kErase : KeptMark::What::kRetain;
    return kept.change_all(txn, {what, {}, clock_.now(), days});
  }
  return TRY(kept.has_snapshots(txn)) ? fail(ErrorCode::kSnapshotsPresent) : Result<void>();
}

Task<Result<bool>> BlobService::delete_blob(BlobRef ref, DeleteSnapshots snapshots, Conditions conditions) {
  bool permanent = true;
  const auto remove = [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
    auto current = TRY(find_current(txn, place, ref));
    const auto days = TRY(days_for(txn, place, ref.account));
    permanent = days == 0;
    if (ref.snapshot) return drop_snapshot(txn, current, ref, conditions, days);
    const bool uncommitted =
        !current.blob && snapshots != DeleteSnapshots::kOnly && TRY(has_staged(txn, current.generation, ref.name));
    if (!current.blob && !uncommitted) return fail(ErrorCode::kBlobNotFound);
    TRY(admit_write(conditions, current.blob, false, clock_.now()));
    if (uncommitted) {
      permanent = true;
      return drop_staged(txn, current.generation, ref.name);
    }
    TRY(drop_snapshots(txn, current, ref.name, snapshots, days));
    return snapshots == DeleteSnapshots::kOnly ? Result<void>() : erase_blob(txn, current, ref.name);
  };
  auto done = co_await change_settled(ref, remove, kDeleteBlobStep);
  if (done) of(ref).collector.kick();
  CO_TRY(std::move(done));
  co_return permanent;
}

/// Brings back the newest deleted blob, unless a current one exists; all other kept blobs become snapshots again.
Task<Result<void>> BlobService::undelete_blob(BlobRef ref) {
  const auto restore = [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
    auto current = TRY(find_current(txn, place, ref));
    const KeptBlobs kept(current.generation, ref.name);
    const bool known = current.blob || TRY(kept.has_deleted(txn)) || TRY(kept.has_snapshots(txn));
    if (!known) return fail(ErrorCode::kBlobNotFound);
    if (!current.blob) {
      const auto blob = TRY(kept.take_deleted(txn));
      if (!blob) return fail(ErrorCode::kBlobNotFound);  // a snapshot needs a blob
      put_blob_row(txn, current.generation, ref.name, {}, *blob);
    }
    return kept.change_all(txn, {KeptMark::What::kRestore});
  };
  auto done = co_await change_settled(ref, restore, kUndeleteStep);
  if (done) of(ref).collector.kick();
  co_return done;
}

}  // namespace tidemark::blob_store
