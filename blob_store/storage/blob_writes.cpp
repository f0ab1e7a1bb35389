// The operations on blobs that change something.
#include <set>

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"

namespace tidemark::blob_store {
namespace {

const FailStep kAbandonStep("blob.abandon");
const FailStep kPutBlobStep("blob.put_blob");
const FailStep kPutBlockStep("blob.put_block");
const FailStep kPutBlockListStep("blob.put_block_list");
const FailStep kChangeBlobStep("blob.change_blob");
const FailStep kDeleteBlobStep("blob.delete_blob");

const Version* version_of(const std::optional<Blob>& blob) { return blob ? &blob->version : nullptr; }

// Everything the blob and its staged blocks refer to.
void bury_all(kv::Transaction& txn, const std::set<std::uint64_t>& payloads) {
  for (const auto payload : payloads) txn.put(keys::dead(payload), "");
}

// Resolves the choices against what is there; drops the staged blocks.
Result<ResolvedBlocks> replace_blocks(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                                      const std::vector<BlockChoice>& choices) {
  auto committed = find_extents(txn, generation, name);
  if (!committed) return fail(std::move(committed.error()));
  auto staged = find_staged(txn, generation, name);
  if (!staged) return fail(std::move(staged.error()));
  auto resolved = resolve_block_list(choices, *committed, *staged);
  if (!resolved) return resolved;
  bury_all(txn, resolved->unreferenced);
  if (auto erased = erase_staged(txn, generation, name, *staged); !erased) return fail(std::move(erased.error()));
  return resolved;
}

// All block ids of a blob have one length; a new one counts against the limit.
Result<void> count_staged(kv::Transaction& txn, std::uint64_t generation, const BlobRef& ref,
                          const std::string& block_id, bool is_new, Time now) {
  const auto key = keys::staged_summary(generation, ref.name);
  auto stored = txn.get(key);
  if (!stored) return fail(std::move(stored.error()));
  records::StagedSummary summary{block_id.size(), 0, now};
  if (*stored) {
    auto decoded = records::decode_staged_summary(**stored);
    if (!decoded) return fail(std::move(decoded.error()));
    summary = *decoded;
  }
  if (summary.id_length != block_id.size()) return fail(ErrorCode::kInvalidBlobOrBlock);
  if (is_new && summary.count >= kMaxStagedBlocks) return fail(ErrorCode::kBlockCountExceedsLimit);
  if (is_new) ++summary.count;
  summary.last_staged = now;
  txn.put(key, records::encode(summary));
  return {};
}

}  // namespace

Task<Result<void>> BlobService::abandon(std::uint64_t payload) {
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    txn.erase(keys::pending(payload));
    txn.put(keys::dead(payload), "");
    return {};
  };
  auto task = engine_.transact(std::move(body), &kAbandonStep);
  auto done = co_await std::move(task);
  collector_.kick();
  co_return done;
}

Result<void> BlobService::store_blob(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                                     const std::optional<Blob>& old, Blob& blob,
                                     const std::vector<Extent>& extents) const {
  auto version = next_version(txn);
  if (!version) return fail(std::move(version.error()));
  blob.version = *version;
  blob.created = old ? old->created : *version;
  txn.put(keys::blob(generation, name), records::encode(blob));
  txn.put(keys::extents(generation, name), records::encode(extents));
  return {};
}

Task<Result<Version>> BlobService::put_blob(BlobRef ref, NewContent content, WrittenPayload payload,
                                            Conditions conditions) {
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  blob.size = payload.size;
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    if (auto met = check_write(conditions, version_of(current->blob), true); !met) return met;
    return write_whole(txn, *current, ref.name, payload, blob);
  };
  auto task = engine_.transact(std::move(body), &kPutBlobStep);
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  collector_.kick();
  co_return blob.version;
}

Result<void> BlobService::write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                      const WrittenPayload& payload, Blob& blob) const {
  auto replaced = replace_blocks(txn, current.generation, name, {});
  if (!replaced) return fail(std::move(replaced.error()));
  auto id = settle(txn, payload);
  if (!id) return fail(std::move(id.error()));
  return store_blob(txn, current.generation, name, current.blob, blob, {Extent{*id, payload.size, {}}});
}

Result<void> BlobService::write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                       const std::vector<BlockChoice>& choices, Blob& blob) const {
  auto resolved = replace_blocks(txn, current.generation, name, choices);
  if (!resolved) return fail(std::move(resolved.error()));
  blob.size = resolved->size;
  return store_blob(txn, current.generation, name, current.blob, blob, resolved->extents);
}

Result<void> BlobService::erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const {
  auto dropped = replace_blocks(txn, current.generation, name, {});
  if (!dropped) return fail(std::move(dropped.error()));
  txn.erase(keys::blob(current.generation, name));
  txn.erase(keys::extents(current.generation, name));
  return {};
}

Result<bool> BlobService::write_staged(kv::Transaction& txn, const BlobRef& ref, const std::string& block_id,
                                       const WrittenPayload& payload) const {
  auto container = find_container(txn, ref.parent());
  if (!container) return fail(std::move(container.error()));
  const auto key = keys::staged_block(container->generation, ref.name, block_id);
  auto stored = txn.get(key);
  if (!stored) return fail(std::move(stored.error()));
  const bool replaces = stored->has_value();
  auto counted = count_staged(txn, container->generation, ref, block_id, !replaces, clock_.now());
  if (!counted) return fail(std::move(counted.error()));
  if (replaces) {
    auto old = records::decode_staged_block(**stored);
    if (!old) return fail(std::move(old.error()));
    if (old->payload != 0) txn.put(keys::dead(old->payload), "");
  }
  auto id = settle(txn, payload);
  if (!id) return fail(std::move(id.error()));
  txn.put(key, records::encode(StagedBlock{*id, payload.size}));
  return replaces;
}

Task<Result<void>> BlobService::put_block(BlobRef ref, std::string block_id, WrittenPayload payload) {
  bool replaced = false;
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto written = write_staged(txn, ref, block_id, payload);
    if (!written) return fail(std::move(written.error()));
    replaced = *written;
    return {};
  };
  auto task = engine_.transact(std::move(body), &kPutBlockStep);
  auto done = co_await std::move(task);
  if (done && replaced) collector_.kick();
  co_return done;
}

Task<Result<Version>> BlobService::put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                                  Conditions conditions) {
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    if (auto met = check_write(conditions, version_of(current->blob), true); !met) return met;
    return write_blocks(txn, *current, ref.name, choices, blob);
  };
  auto task = engine_.transact(std::move(body), &kPutBlockListStep);
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  collector_.kick();
  co_return blob.version;
}

Task<Result<Version>> BlobService::change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change) {
  Version version;
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    if (!current->blob) return fail(ErrorCode::kBlobNotFound);
    if (auto met = check_write(conditions, &current->blob->version, false); !met) return met;
    auto next = next_version(txn);
    if (!next) return fail(std::move(next.error()));
    current->blob->version = version = *next;
    change(*current->blob);
    txn.put(keys::blob(current->generation, ref.name), records::encode(*current->blob));
    return {};
  };
  auto task = engine_.transact(std::move(body), &kChangeBlobStep);
  auto done = co_await std::move(task);
  if (!done) co_return fail(std::move(done.error()));
  co_return version;
}

Task<Result<Version>> BlobService::set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions) {
  std::function<void(Blob&)> change = [headers](Blob& blob) { blob.headers = headers; };
  return change_blob(std::move(ref), std::move(conditions), std::move(change));
}

Task<Result<Version>> BlobService::set_metadata(BlobRef ref, Metadata metadata, Conditions conditions) {
  std::function<void(Blob&)> change = [metadata](Blob& blob) { blob.metadata = metadata; };
  return change_blob(std::move(ref), std::move(conditions), std::move(change));
}

Task<Result<void>> BlobService::delete_blob(BlobRef ref, Conditions conditions) {
  kv::TransactionBody body = [&](kv::Transaction& txn) -> Result<void> {
    auto current = find_current(txn, ref);
    if (!current) return fail(std::move(current.error()));
    if (!current->blob) return fail(ErrorCode::kBlobNotFound);
    if (auto met = check_write(conditions, &current->blob->version, false); !met) return met;
    return erase_blob(txn, *current, ref.name);
  };
  auto task = engine_.transact(std::move(body), &kDeleteBlobStep);
  auto done = co_await std::move(task);
  if (done) collector_.kick();
  co_return done;
}

}  // namespace tidemark::blob_store
