#include "blob_store/storage/kept_blobs.h"

#include <vector>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/contents.h"

namespace tidemark::blob_store {
namespace {

constexpr std::size_t kPerStep = 256;

Time purge_time(const KeptBlob& kept) { return *kept.deleted + std::chrono::hours(24 * kept.retained_days); }

/// Returns the version of the newest kept blob in the range; zero if there is none.
Result<Stamp> newest_of(const kv::Reader& reader, const kv::KeyRange& range) {
  const auto cursor = reader.scan(range, kv::Direction::kReverse);
  TRY(cursor->status());
  const auto key = cursor->valid() ? blob_keys::kept_key(cursor->key()) : std::nullopt;
  return Stamp{key ? key->version : 0};
}

struct Row {
  Stamp version;
  KeptBlob kept;
};

/// Returns at most `limit` rows up to a version, the oldest first.
Result<std::vector<Row>> read_rows(const kv::Reader& reader, const kv::KeyRange& range, Stamp through,
                                   std::size_t limit) {
  std::vector<Row> rows;
  const auto cursor = reader.scan(range);
  for (; cursor->valid() && rows.size() < limit; cursor->next()) {
    const auto key = blob_keys::kept_key(cursor->key());
    if (!key) return corrupt_record("key of a kept blob");
    if (key->version > through.ticks) break;
    rows.push_back({{key->version}, TRY(records::kKeptBlob.decode(cursor->value()))});
  }
  TRY(cursor->status());
  return rows;
}

char kind_changed_by(KeptMark::What what) {
  return what == KeptMark::What::kRestore ? blob_keys::kDeleted : blob_keys::kSnapshot;
}

}  // namespace

std::optional<KeptBlob> seen_through(const std::optional<KeptMark>& mark, Stamp version, KeptBlob kept) {
  if (!mark || version.ticks > mark->through.ticks) return kept;
  const bool restores = mark->what == KeptMark::What::kRestore;
  if (kept.deleted.has_value() != restores) return kept;  // the mark concerns the other kind
  if (mark->what == KeptMark::What::kErase) return std::nullopt;
  kept.deleted = restores ? std::optional<Time>() : mark->at;
  kept.retained_days = mark->days;
  kept.snapshot = true;
  return kept;
}

Result<std::optional<KeptMark>> KeptBlobs::find_mark(const kv::Reader& reader) const {
  const auto stored = TRY(reader.get(blob_keys::kept_mark(generation_, name_)));
  if (!stored) return std::optional<KeptMark>();
  return TRY(records::kKeptMark.decode(*stored));
}

Result<std::optional<Blob>> KeptBlobs::find_snapshot(const kv::Reader& reader, Stamp version) const {
  const auto mark = TRY(find_mark(reader));
  auto stored = TRY(reader.get(blob_keys::kept(blob_keys::kSnapshot, generation_, name_, version.ticks)));
  const bool perhaps_restored = !stored && mark && mark->what == KeptMark::What::kRestore;
  if (perhaps_restored) {
    stored = TRY(reader.get(blob_keys::kept(blob_keys::kDeleted, generation_, name_, version.ticks)));
  }
  if (!stored) return std::optional<Blob>();
  auto kept = seen_through(mark, version, TRY(records::kKeptBlob.decode(*stored)));
  return kept && !kept->deleted ? std::optional(std::move(kept->blob)) : std::nullopt;
}

Result<bool> KeptBlobs::has_snapshots(const kv::Reader& reader) const {
  return TRY(newest_of(reader, blob_keys::all_kept(blob_keys::kSnapshot, generation_, name_))).ticks != 0;
}

Result<bool> KeptBlobs::has_deleted(const kv::Reader& reader) const {
  return TRY(newest_of(reader, blob_keys::all_kept(blob_keys::kDeleted, generation_, name_))).ticks != 0;
}

void KeptBlobs::put_snapshot(kv::Transaction& txn, Stamp version, const Blob& blob) const {
  KeptBlob kept{blob, true, {}, 0};
  kept.blob.lease = {};
  txn.put(blob_keys::kept(blob_keys::kSnapshot, generation_, name_, version.ticks), records::kKeptBlob.encode(kept));
}

void KeptBlobs::retain(kv::Transaction& txn, Stamp version, const KeptBlob& kept) const {
  txn.put(blob_keys::kept(blob_keys::kDeleted, generation_, name_, version.ticks), records::kKeptBlob.encode(kept));
  txn.put(blob_keys::purge(purge_time(kept), generation_, name_, version.ticks), "");
}

Result<void> KeptBlobs::drop_snapshot(kv::Transaction& txn, Stamp version, Blob blob, Time now,
                                      std::uint32_t days) const {
  const KeptMark mark{days == 0 ? KeptMark::What::kErase : KeptMark::What::kRetain, version, now, days};
  return settle_one(txn, mark, version, {std::move(blob), true, {}, 0});
}

Result<std::optional<Blob>> KeptBlobs::take_deleted(kv::Transaction& txn) const {
  std::optional<Row> found;
  {
    const auto range = blob_keys::all_kept(blob_keys::kDeleted, generation_, name_);
    const auto cursor = txn.scan(range, kv::Direction::kReverse);
    for (std::size_t looks = 0; cursor->valid() && looks < kPerStep && !found; cursor->next(), ++looks) {
      const auto key = blob_keys::kept_key(cursor->key());
      if (!key) return corrupt_record("key of a kept blob");
      auto kept = TRY(records::kKeptBlob.decode(cursor->value()));
      if (!kept.snapshot) found = {{key->version}, std::move(kept)};
    }
    TRY(cursor->status());
  }
  if (!found) return std::optional<Blob>();
  txn.erase(blob_keys::kept(blob_keys::kDeleted, generation_, name_, found->version.ticks));
  txn.erase(blob_keys::purge(purge_time(found->kept), generation_, name_, found->version.ticks));
  return std::optional(std::move(found->kept.blob));
}

Result<void> KeptBlobs::change_all(kv::Transaction& txn, KeptMark mark) const {
  mark.through = TRY(newest_of(txn, blob_keys::all_kept(kind_changed_by(mark.what), generation_, name_)));
  if (mark.through.ticks == 0) return {};
  txn.put(blob_keys::kept_mark(generation_, name_), records::kKeptMark.encode(mark));
  TRY(settle_some(txn));
  return {};
}

Result<void> KeptBlobs::settle_one(kv::Transaction& txn, const KeptMark& mark, Stamp version, KeptBlob kept) const {
  const auto kind = kind_changed_by(mark.what);
  txn.erase(blob_keys::kept(kind, generation_, name_, version.ticks));
  if (kind == blob_keys::kDeleted) txn.erase(blob_keys::purge(purge_time(kept), generation_, name_, version.ticks));
  const auto content = kept.blob.content;
  const auto seen = seen_through(mark, version, std::move(kept));
  if (!seen) return release(txn, content);
  if (seen->deleted) {
    retain(txn, version, *seen);
  } else {
    put_snapshot(txn, version, seen->blob);
  }
  return {};
}

Result<bool> KeptBlobs::settle_some(kv::Transaction& txn) const {
  const auto mark = TRY(find_mark(txn));
  if (!mark) return false;
  const auto range = blob_keys::all_kept(kind_changed_by(mark->what), generation_, name_);
  auto rows = TRY(read_rows(txn, range, mark->through, kPerStep));
  for (auto& row : rows) TRY(settle_one(txn, *mark, row.version, std::move(row.kept)));
  if (rows.size() < kPerStep) txn.erase(blob_keys::kept_mark(generation_, name_));
  return true;
}

Result<bool> settle_any(kv::Transaction& txn) {
  std::optional<blob_keys::NamedKey> marked;
  {
    const auto cursor = txn.scan(blob_keys::all(blob_keys::kKeptMark));
    TRY(cursor->status());
    if (!cursor->valid()) return false;
    marked = blob_keys::named_key(cursor->key());
  }
  if (!marked) return corrupt_record("key of a mark");
  return KeptBlobs(marked->generation, marked->name).settle_some(txn);
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
  std::size_t purged = 0;
  for (const auto& [time, generation, name, version] : due) {
    const auto mark = TRY(KeptBlobs(generation, name).find_mark(txn));
    if (mark && mark->what == KeptMark::What::kRestore) continue;  // it is being brought back
    const auto row = blob_keys::kept(blob_keys::kDeleted, generation, name, version);
    if (const auto stored = TRY(txn.get(row))) {
      TRY(release(txn, TRY(records::kKeptBlob.decode(*stored)).blob.content));
      txn.erase(row);
    }
    txn.erase(blob_keys::purge(time, generation, name, version));
    ++purged;
  }
  return purged;
}

}  // namespace tidemark::blob_store
