// Snapshots, and what stays when blobs are deleted or replaced while the account retains them ("soft delete").
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"
#include "common/protocol/service_properties.h"

namespace tidemark::blob_store {
namespace {

const FailStep kSnapshotStep("blob.snapshot");
const FailStep kDeleteBlobStep("blob.delete_blob");
const FailStep kUndeleteStep("blob.undelete");

struct Kept {
  Stamp version;
  KeptBlob blob;
};

/// All that is kept of a blob, the oldest first.
Result<std::vector<Kept>> read_kept(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  std::vector<Kept> all;
  const auto cursor = reader.scan(blob_keys::all_kept(generation, name));
  for (; cursor->valid(); cursor->next()) {
    const auto key = blob_keys::kept_key(cursor->key());
    if (!key) return corrupt_record("key of a kept blob");
    all.push_back({{key->version}, TRY(records::kKeptBlob.decode(cursor->value()))});
  }
  TRY(cursor->status());
  return all;
}

Time purge_time(const KeptBlob& kept) { return *kept.deleted + std::chrono::hours(24 * kept.retained_days); }

void store_kept(kv::Transaction& txn, std::uint64_t generation, const std::string& name, Stamp version,
                const KeptBlob& kept) {
  txn.put(blob_keys::kept(generation, name, version.ticks), records::kKeptBlob.encode(kept));
  if (kept.deleted) txn.put(blob_keys::purge(purge_time(kept), generation, name, version.ticks), "");
}

void forget_kept(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const Kept& kept) {
  txn.erase(blob_keys::kept(generation, name, kept.version.ticks));
  if (kept.blob.deleted) txn.erase(blob_keys::purge(purge_time(kept.blob), generation, name, kept.version.ticks));
}

/// For how many days deleted blobs of the account are retained; 0: not at all.
Result<std::uint32_t> retained_days(const kv::Reader& reader, std::string_view account) {
  const auto stored = TRY(reader.get(kv::key(blob_keys::kServiceProperties, kv::Text{account})));
  if (!stored || stored->find("<DeleteRetentionPolicy><Enabled>true") == std::string::npos) return 0;
  const auto properties = TRY(protocol::parse_service_properties(protocol::StoreKind::kBlob, *stored));
  const auto& retention = properties.delete_retention;
  return retention && retention->enabled ? retention->days : 0;
}

}  // namespace

Result<void> BlobService::discard(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                  bool as_snapshot) const {
  const auto days = TRY(retained_days(txn, current.account));
  if (days == 0) return release(txn, current.blob->content);
  KeptBlob kept{*current.blob, as_snapshot, clock_.now(), days};
  kept.blob.lease = {};
  store_kept(txn, current.generation, name, TRY(next_version(txn)), kept);
  return {};
}

Task<Result<SnapshotOutcome>> BlobService::snapshot_blob(BlobRef ref, std::optional<Metadata> metadata,
                                                         Conditions conditions) {
  if (metadata) CO_TRY(check_metadata(*metadata));
  SnapshotOutcome outcome;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        auto& blob = *current.blob;
        TRY(check_lease_of_read(blob.lease, conditions.lease_id, clock_.now(), Leased::kBlob));
        TRY(check_existing(conditions, blob));
        if (is_archived(blob)) return fail(ErrorCode::kBlobArchived);
        TRY(check_sharable(txn, blob));
        TRY(share(txn, blob.content));
        put_blob_row(txn, current.generation, ref.name, blob.tags, blob);
        KeptBlob kept{blob, true, {}, 0};
        kept.blob.lease = {};
        if (metadata) kept.blob.metadata = *metadata;
        outcome = {TRY(next_version(txn)), blob.version};
        store_kept(txn, current.generation, ref.name, outcome.snapshot, kept);
        return {};
      },
      &kSnapshotStep));
  co_return outcome;
}

Result<void> BlobService::drop_snapshot(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                        Stamp version, KeptBlob kept) const {
  const auto days = TRY(retained_days(txn, current.account));
  if (days == 0) {
    TRY(release(txn, kept.blob.content));
    forget_kept(txn, current.generation, name, {version, kept});
    return {};
  }
  kept.deleted = clock_.now();
  kept.retained_days = days;
  store_kept(txn, current.generation, name, version, kept);
  return {};
}

Result<void> BlobService::drop_snapshots(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                         DeleteSnapshots wanted) const {
  for (auto& kept : TRY(read_kept(txn, current.generation, name))) {
    if (kept.blob.deleted) continue;
    if (wanted == DeleteSnapshots::kNone) return fail(ErrorCode::kSnapshotsPresent);
    TRY(drop_snapshot(txn, current, name, kept.version, std::move(kept.blob)));
  }
  return {};
}

Task<Result<bool>> BlobService::delete_blob(BlobRef ref, DeleteSnapshots snapshots, Conditions conditions) {
  bool permanent = true;
  auto done = co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        permanent = TRY(retained_days(txn, ref.account)) == 0;
        if (ref.snapshot) {
          auto kept = TRY(find_kept(txn, current.generation, ref.name, *ref.snapshot));
          if (!kept || !kept->snapshot || kept->deleted) return fail(ErrorCode::kBlobNotFound);
          TRY(check_existing(conditions, kept->blob));
          return drop_snapshot(txn, current, ref.name, *ref.snapshot, std::move(*kept));
        }
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(admit_write(conditions, current.blob, false, clock_.now()));
        TRY(drop_snapshots(txn, current, ref.name, snapshots));
        return snapshots == DeleteSnapshots::kOnly ? Result<void>() : erase_blob(txn, current, ref.name);
      },
      &kDeleteBlobStep);
  if (done) collector_.kick();
  CO_TRY(std::move(done));
  co_return permanent;
}

/// The newest of those that were the blob itself is it again, unless there is one; everything else is a snapshot again.
Task<Result<void>> BlobService::undelete_blob(BlobRef ref) {
  co_return co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        auto all = TRY(read_kept(txn, current.generation, ref.name));
        if (!current.blob && all.empty()) return fail(ErrorCode::kBlobNotFound);
        for (auto kept = all.rbegin(); kept != all.rend(); ++kept) {
          if (!kept->blob.deleted) continue;
          forget_kept(txn, current.generation, ref.name, *kept);
          if (!kept->blob.snapshot && !current.blob) {
            current.blob = std::move(kept->blob.blob);
            put_blob_row(txn, current.generation, ref.name, {}, *current.blob);
            continue;
          }
          kept->blob.deleted.reset();
          kept->blob.snapshot = true;
          store_kept(txn, current.generation, ref.name, kept->version, kept->blob);
        }
        return {};
      },
      &kUndeleteStep);
}

Result<std::size_t> purge_kept(kv::Transaction& txn, Time now, std::size_t limit) {
  std::vector<blob_keys::PurgeKey> due;
  {
    const auto cursor = txn.scan(blob_keys::purges_until(now));
    for (; cursor->valid() && due.size() < limit; cursor->next()) {
      auto key = blob_keys::purge_key(cursor->key());
      if (!key) return corrupt_record("key of a deleted blob");
      due.push_back(std::move(*key));
    }
    TRY(cursor->status());
  }
  for (const auto& [time, generation, name, version] : due) {
    auto kept = TRY(find_kept(txn, generation, name, {version}));
    if (kept && kept->deleted) {
      TRY(release(txn, kept->blob.content));
      txn.erase(blob_keys::kept(generation, name, version));
    }
    txn.erase(blob_keys::purge(time, generation, name, version));
  }
  return due.size();
}

}  // namespace tidemark::blob_store
