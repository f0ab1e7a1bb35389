// What workers do to blobs: every effect is in one transaction with the check of its fence and with the ledger that
// remembers it.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"

namespace tidemark::blob_store {
namespace {

Result<OperationLedger> load_ledger(const kv::Reader& reader, const std::string& key) {
  auto bytes = reader.get(key);
  if (!bytes) return fail(std::move(bytes.error()));
  return *bytes ? decode_ledger(**bytes) : OperationLedger{};
}

// How a copy fares against what is there.
WriteOutcome contest(const std::optional<Blob>& existing, const FencedWrite& write) {
  if (existing && existing->source_version == write.source_version) return WriteOutcome::kUnchanged;
  if (write.replaces) {
    const bool there = existing && existing->source_version == write.replaces;
    return there ? WriteOutcome::kApplied : WriteOutcome::kSuperseded;
  }
  const bool newer = !existing || existing->effective_version() < write.source_version;
  return newer ? WriteOutcome::kApplied : WriteOutcome::kSuperseded;
}

Blob blob_of(NewContent content, std::int64_t source_version) {
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  blob.source_version = source_version;
  return blob;
}

}  // namespace

Task<Result<WriteOutcome>> BlobService::fenced(std::string account, Fence fence, FencedEffect effect) {
  if (auto ok = check_operation_id(fence.operation_id); !ok) co_return fail(std::move(ok.error()));
  const auto key = keys::ledger(account, fence.operation_id);
  auto outcome = WriteOutcome::kApplied;
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto ledger = load_ledger(txn, key);
    if (!ledger) return fail(std::move(ledger.error()));
    if (auto passed = pass_fence(*ledger, fence.epoch); !passed) return passed;
    auto effected = effect(txn);
    if (!effected) return fail(std::move(effected.error()));
    outcome = *effected;
    if (outcome == WriteOutcome::kApplied && !fence.count_applied_as.empty()) {
      if (auto counted = add_to_counter(*ledger, fence.count_applied_as, 1); !counted) return counted;
    }
    txn.put(key, encode_ledger(*ledger));
    return {};
  };
  auto task = engine_.transact(std::move(body));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  collector_.kick();
  co_return outcome;
}

Task<Result<WriteOutcome>> BlobService::put_if_newer(BlobRef ref, NewContent content, WrittenPayload payload,
                                                     FencedWrite write) {
  auto blob = blob_of(std::move(content), write.source_version);
  blob.size = payload.size;
  FencedEffect effect = [&](kv::Transaction& txn) -> Result<WriteOutcome> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    const auto outcome = contest(current->blob, write);
    if (outcome != WriteOutcome::kApplied) return outcome;
    if (auto written = write_whole(txn, *current, ref.name, payload, blob); !written) {
      return fail(std::move(written.error()));
    }
    return outcome;
  };
  auto task = fenced(ref.account, write.fence, std::move(effect));
  auto done = co_await std::move(task);
  if (payload.id != 0 && (!done || *done != WriteOutcome::kApplied)) {
    auto abandoning = abandon(payload.id);
    auto abandoned = co_await std::move(abandoning);
    if (!abandoned) co_return fail(std::move(abandoned.error()));
  }
  co_return done;
}

Task<Result<void>> BlobService::stage_block(BlobRef ref, std::string block_id, WrittenPayload payload, Fence fence) {
  FencedEffect effect = [&](kv::Transaction& txn) -> Result<WriteOutcome> {
    auto staged = write_staged(txn, ref, block_id, payload);
    if (!staged) return fail(std::move(staged.error()));
    return WriteOutcome::kApplied;
  };
  auto task = fenced(ref.account, std::move(fence), std::move(effect));
  auto done = co_await std::move(task);
  if (done) co_return Result<void>{};
  if (payload.id != 0) {
    auto abandoning = abandon(payload.id);
    auto abandoned = co_await std::move(abandoning);
    if (!abandoned) co_return fail(std::move(abandoned.error()));
  }
  co_return fail(std::move(done.error()));
}

Task<Result<WriteOutcome>> BlobService::publish_if_newer(BlobRef ref, std::vector<std::string> block_ids,
                                                         NewContent content, FencedWrite write) {
  std::vector<BlockChoice> choices;
  for (auto& id : block_ids) choices.push_back({BlockSource::kUncommitted, std::move(id)});
  auto blob = blob_of(std::move(content), write.source_version);
  FencedEffect effect = [&](kv::Transaction& txn) -> Result<WriteOutcome> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    const auto outcome = contest(current->blob, write);
    auto written = outcome == WriteOutcome::kApplied ? write_blocks(txn, *current, ref.name, choices, blob)
                                                     : drop_staged(txn, current->generation, ref.name);
    if (!written) return fail(std::move(written.error()));
    return outcome;
  };
  auto task = fenced(ref.account, write.fence, std::move(effect));
  co_return co_await std::move(task);
}

Task<Result<WriteOutcome>> BlobService::erase_unless_newer(BlobRef ref, FencedWrite write) {
  FencedEffect effect = [&](kv::Transaction& txn) -> Result<WriteOutcome> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    if (!current->blob) return WriteOutcome::kMissing;
    if (current->blob->effective_version() > write.source_version) return WriteOutcome::kSuperseded;
    if (auto erased = erase_blob(txn, *current, ref.name); !erased) return fail(std::move(erased.error()));
    return WriteOutcome::kApplied;
  };
  auto task = fenced(ref.account, write.fence, std::move(effect));
  co_return co_await std::move(task);
}

Task<Result<OperationLedger>> BlobService::open_operation(std::string account, Fence fence) {
  return change_ledger(std::move(account), std::move(fence), [](OperationLedger& ledger, std::uint64_t epoch) {
    return ledger.closed ? Result<void>{} : pass_fence(ledger, epoch);
  });
}

Task<Result<OperationLedger>> BlobService::close_operation(std::string account, Fence fence) {
  return change_ledger(std::move(account), std::move(fence), &close_ledger);
}

Task<Result<OperationLedger>> BlobService::change_ledger(std::string account, Fence fence, LedgerStep step) {
  if (auto ok = check_operation_id(fence.operation_id); !ok) co_return fail(std::move(ok.error()));
  const auto key = keys::ledger(account, fence.operation_id);
  OperationLedger ledger;
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto loaded = load_ledger(txn, key);
    if (!loaded) return fail(std::move(loaded.error()));
    ledger = std::move(*loaded);
    if (auto stepped = step(ledger, fence.epoch); !stepped) return stepped;
    txn.put(key, encode_ledger(ledger));
    return {};
  };
  auto task = engine_.transact(std::move(body));
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return ledger;
}

Result<OperationLedger> BlobService::read_operation(const std::string& account, const std::string& operation_id) const {
  if (auto ok = check_operation_id(operation_id); !ok) return fail(std::move(ok.error()));
  const auto snapshot = engine_.snapshot();
  return load_ledger(*snapshot, keys::ledger(account, operation_id));
}

}  // namespace tidemark::blob_store
