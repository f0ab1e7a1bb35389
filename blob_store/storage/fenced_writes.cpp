// Changes of blobs by workers: every effect is in one transaction with the check of its fence and with the ledger that
// remembers it.
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/kept_blobs.h"

namespace tidemark::blob_store {
namespace {

// Decides whether a copy may replace the existing blob.
WriteOutcome contest(const std::optional<Blob>& existing, const FencedWrite& write) {
  if (existing && existing->source_version == write.source_version) return WriteOutcome::kUnchanged;
  if (write.replaces) {
    const bool there = existing && existing->source_version == write.replaces;
    return there ? WriteOutcome::kApplied : WriteOutcome::kSuperseded;
  }
  const bool newer = !existing || existing->effective_version() < write.source_version;
  return newer ? WriteOutcome::kApplied : WriteOutcome::kSuperseded;
}

Result<Blob> written_by(const FencedWrite& write, const NewContent& content, Time now) {
  auto blob = blob_of(TRY(checked(content)), now);
  if (write.step == 0) blob.source_version = write.source_version;
  return blob;
}

/// Decides about the write of a step, which is like that of a client without a lease.
Result<WriteOutcome> contest_step(const std::optional<Blob>& existing, Time now) {
  if (existing && existing->lease.locked(now)) return fail(ErrorCode::kLeaseIdMissing);
  return WriteOutcome::kApplied;
}

}  // namespace

Task<Result<WriteOutcome>> BlobService::write_fenced(BlobRef ref, Fence fence, FencedEffect effect,
                                                     std::uint32_t step) {
  CO_TRY(check_operation_id(fence.operation_id));
  auto outcome = WriteOutcome::kApplied;
  bool done = false;
  for (bool entered = false;; entered = true) {
    CO_TRY(co_await transact(ref, [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
      const auto write = [&](OperationLedger& ledger) -> Result<std::uint64_t> {
        outcome = WriteOutcome::kUnchanged;
        if (step != 0 && ledger.find_step(step) != nullptr) return 0;
        outcome = TRY(effect(txn, place));
        if (step != 0) ledger.steps.push_back({step, fence.epoch, {}});
        return outcome == WriteOutcome::kApplied ? 1 : 0;
      };
      done = TRY(fenced_on(place.shard, txn, ref.account, fence, entered, write));
      return {};
    }));
    if (done) break;
    CO_TRY(co_await enter(of(ref).number, ref.account, fence));
  }
  of(ref).collector.kick();
  co_return outcome;
}

Task<Result<WriteOutcome>> BlobService::put_if_newer(BlobRef ref, NewContent content, WrittenPayload payload,
                                                     FencedWrite write) {
  FencedEffect effect = [&](kv::Transaction& txn, const ShardPlace& place) -> Result<WriteOutcome> {
    auto blob = TRY(written_by(write, content, clock_.now()));
    auto current = TRY(find_current(txn, place, ref));
    const bool is_step = write.step != 0;
    const auto outcome = is_step ? TRY(contest_step(current.blob, clock_.now())) : contest(current.blob, write);
    if (outcome != WriteOutcome::kApplied) return outcome;
    TRY(write_whole(txn, current, ref.name, payload, blob));
    return outcome;
  };
  auto done = co_await write_fenced(ref, write.fence, std::move(effect), write.step);
  if (!done || *done != WriteOutcome::kApplied) abandon(payload.id);
  co_return done;
}

Task<Result<void>> BlobService::stage_block(BlobRef ref, std::string block_id, WrittenPayload payload, Fence fence) {
  FencedEffect effect = [&](kv::Transaction& txn, const ShardPlace& place) -> Result<WriteOutcome> {
    const auto generation = TRY(find_generation(txn, place, ref.parent()));
    TRY(check_blob_name(ref.name));
    TRY(write_staged(txn, place.ids(), generation, ref.name, block_id, payload));
    return WriteOutcome::kApplied;
  };
  auto done = co_await write_fenced(ref, std::move(fence), std::move(effect));
  if (done) co_return Result<void>{};
  abandon(payload.id);
  co_return fail(std::move(done.error()));
}

Task<Result<WriteOutcome>> BlobService::publish_if_newer(BlobRef ref, std::vector<std::string> block_ids,
                                                         NewContent content, FencedWrite write) {
  std::vector<BlockChoice> choices;
  choices.reserve(block_ids.size());
  for (auto& id : block_ids) choices.push_back({BlockSource::kUncommitted, std::move(id)});
  co_return co_await write_fenced(
      ref, write.fence, [&](kv::Transaction& txn, const ShardPlace& place) -> Result<WriteOutcome> {
        auto blob = TRY(written_by(write, content, clock_.now()));
        auto current = TRY(find_current(txn, place, ref));
        const auto outcome = contest(current.blob, write);
        TRY(outcome == WriteOutcome::kApplied ? write_blocks(txn, current, ref.name, choices, blob)
                                              : drop_staged(txn, current.generation, ref.name));
        return outcome;
      });
}

Task<Result<WriteOutcome>> BlobService::erase_unless_newer(BlobRef ref, FencedWrite write) {
  co_return co_await write_fenced(ref, write.fence,
                                  [&](kv::Transaction& txn, const ShardPlace& place) -> Result<WriteOutcome> {
                                    auto current = TRY(find_current(txn, place, ref));
                                    if (!current.blob) return WriteOutcome::kMissing;
                                    if (current.blob->effective_version() > write.source_version)
                                      return WriteOutcome::kSuperseded;
                                    TRY(erase_blob(txn, current, ref.name));
                                    return WriteOutcome::kApplied;
                                  });
}

Task<Result<WriteOutcome>> BlobService::discard_blob(BlobRef ref, Stamp version, Fence fence) {
  co_return co_await write_fenced(ref, std::move(fence),
                                  [&](kv::Transaction& txn, const ShardPlace& place) -> Result<WriteOutcome> {
                                    const auto current = TRY(find_current(txn, place, ref));
                                    if (!current.blob) return WriteOutcome::kMissing;
                                    if (current.blob->version.ticks != version.ticks) return WriteOutcome::kSuperseded;
                                    const KeptBlobs kept(current.generation, ref.name);
                                    if (TRY(kept.find_mark(txn)))
                                      return fail(ErrorCode::kServerBusy, "The blob's snapshots are being deleted.");
                                    if (TRY(kept.has_snapshots(txn)) || current.blob->lease.locked(clock_.now()))
                                      return WriteOutcome::kConflict;
                                    TRY(erase_blob(txn, current, ref.name));
                                    return WriteOutcome::kApplied;
                                  });
}

}  // namespace tidemark::blob_store
