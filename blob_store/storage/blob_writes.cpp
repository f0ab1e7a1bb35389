// The operations on blobs that change something.
#include <set>

#include "blob_store/model/names.h"
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

const Stamp* version_of(const std::optional<Blob>& blob) { return blob ? &blob->version : nullptr; }

// Everything the blob and its staged blocks refer to.
void bury_all(kv::Transaction& txn, const std::set<std::uint64_t>& payloads) {
  for (const auto payload : payloads) txn.put(blob_keys::dead(payload), "");
}

// Resolves the choices against what is there; drops the staged blocks.
Result<ResolvedBlocks> replace_blocks(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                                      const std::vector<BlockChoice>& choices) {
  auto committed = TRY(find_extents(txn, generation, name));
  auto staged = TRY(find_staged(txn, generation, name));
  auto resolved = TRY(resolve_block_list(choices, committed, staged));
  bury_all(txn, resolved.unreferenced);
  erase_staged(txn, generation, name, staged);
  return resolved;
}

// All block ids of a blob have one length; a new one counts against the limit.
Result<void> count_staged(kv::Transaction& txn, std::uint64_t generation, const BlobRef& ref,
                          const std::string& block_id, bool is_new, Time now) {
  const auto key = blob_keys::staged_summary(generation, ref.name);
  auto stored = TRY(txn.get(key));
  records::StagedSummary summary{block_id.size(), 0, now};
  if (stored) summary = TRY(records::kStagedSummary.decode(*stored));
  if (summary.id_length != block_id.size()) return fail(ErrorCode::kInvalidBlobOrBlock);
  if (is_new && summary.count >= kMaxStagedBlocks) return fail(ErrorCode::kBlockCountExceedsLimit);
  if (is_new) ++summary.count;
  summary.last_staged = now;
  txn.put(key, records::kStagedSummary.encode(summary));
  return {};
}

}  // namespace

Task<void> BlobService::abandon(std::uint64_t payload) {
  const auto done = co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        bury_pending(txn, payload);
        return {};
      },
      &kAbandonStep);
  if (!done) collector_.abandon_later(payload);
  collector_.kick();
}

Result<void> BlobService::store_blob(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                                     const std::optional<Blob>& old, Blob& blob,
                                     const std::vector<Extent>& extents) const {
  blob.version = TRY(next_version(txn));
  blob.created = old ? old->created : blob.version;
  txn.put(blob_keys::blob(generation, name), records::kBlob.encode(blob));
  txn.put(blob_keys::extents(generation, name), records::kExtents.encode(extents));
  return {};
}

Result<void> BlobService::check_put(const BlobRef& ref, const Metadata& metadata) const {
  TRY(check_metadata(metadata));
  TRY(check_blob_name(ref.name));
  TRY(find_container(*engine_.snapshot(), ref.parent()));
  return {};
}

Task<Result<Stamp>> BlobService::put_blob(BlobRef ref, NewContent content, WrittenPayload payload,
                                          Conditions conditions) {
  CO_TRY(check_metadata(content.metadata));
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  blob.size = payload.size;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        TRY(check_write(conditions, version_of(current.blob), true));
        return write_whole(txn, current, ref.name, payload, blob);
      },
      &kPutBlobStep));
  collector_.kick();
  co_return blob.version;
}

Result<void> BlobService::write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                      const WrittenPayload& payload, Blob& blob) const {
  TRY(replace_blocks(txn, current.generation, name, {}));
  auto id = TRY(settle(txn, payload));
  return store_blob(txn, current.generation, name, current.blob, blob, {Extent{id, payload.size, {}}});
}

Result<void> BlobService::write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                       const std::vector<BlockChoice>& choices, Blob& blob) const {
  auto resolved = TRY(replace_blocks(txn, current.generation, name, choices));
  blob.size = resolved.size;
  return store_blob(txn, current.generation, name, current.blob, blob, resolved.extents);
}

Result<void> BlobService::erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const {
  TRY(replace_blocks(txn, current.generation, name, {}));
  txn.erase(blob_keys::blob(current.generation, name));
  txn.erase(blob_keys::extents(current.generation, name));
  return {};
}

Result<bool> BlobService::write_staged(kv::Transaction& txn, const BlobRef& ref, const std::string& block_id,
                                       const WrittenPayload& payload) const {
  TRY(check_blob_name(ref.name));
  auto container = TRY(find_container(txn, ref.parent()));
  const auto key = blob_keys::staged_block(container.generation, ref.name, block_id);
  auto stored = TRY(txn.get(key));
  const bool replaces = stored.has_value();
  TRY(count_staged(txn, container.generation, ref, block_id, !replaces, clock_.now()));
  if (replaces) {
    auto old = TRY(records::kStagedBlock.decode(*stored));
    if (old.payload != 0) txn.put(blob_keys::dead(old.payload), "");
  }
  auto id = TRY(settle(txn, payload));
  txn.put(key, records::kStagedBlock.encode(StagedBlock{id, payload.size}));
  return replaces;
}

Task<Result<void>> BlobService::put_block(BlobRef ref, std::string block_id, WrittenPayload payload) {
  bool replaced = false;
  auto done = co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        replaced = TRY(write_staged(txn, ref, block_id, payload));
        return {};
      },
      &kPutBlockStep);
  if (done && replaced) collector_.kick();
  co_return done;
}

Task<Result<Stamp>> BlobService::put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                                Conditions conditions) {
  CO_TRY(check_metadata(content.metadata));
  Blob blob;
  blob.headers = std::move(content.headers);
  blob.metadata = std::move(content.metadata);
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        TRY(check_write(conditions, version_of(current.blob), true));
        return write_blocks(txn, current, ref.name, choices, blob);
      },
      &kPutBlockListStep));
  collector_.kick();
  co_return blob.version;
}

Task<Result<Stamp>> BlobService::change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change) {
  Stamp version;
  CO_TRY(co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(check_write(conditions, &current.blob->version, false));
        current.blob->version = version = TRY(next_version(txn));
        change(*current.blob);
        txn.put(blob_keys::blob(current.generation, ref.name), records::kBlob.encode(*current.blob));
        return {};
      },
      &kChangeBlobStep));
  co_return version;
}

Task<Result<Stamp>> BlobService::set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions) {
  co_return co_await change_blob(std::move(ref), std::move(conditions), [&](Blob& blob) { blob.headers = headers; });
}

Task<Result<Stamp>> BlobService::set_metadata(BlobRef ref, Metadata metadata, Conditions conditions) {
  CO_TRY(check_metadata(metadata));
  co_return co_await change_blob(std::move(ref), std::move(conditions), [&](Blob& blob) { blob.metadata = metadata; });
}

Task<Result<void>> BlobService::delete_blob(BlobRef ref, Conditions conditions) {
  auto done = co_await engine_.transact(
      [&](kv::Transaction& txn) -> Result<void> {
        auto current = TRY(find_current(txn, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(check_write(conditions, &current.blob->version, false));
        return erase_blob(txn, current, ref.name);
      },
      &kDeleteBlobStep);
  if (done) collector_.kick();
  co_return done;
}

}  // namespace tidemark::blob_store
