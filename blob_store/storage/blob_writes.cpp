// The operations that change blobs.
#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"
#include "common/base/encoding.h"

namespace tidemark::blob_store {
namespace {

const FailStep kPutBlobStep("blob.put_blob");
const FailStep kPutBlockStep("blob.put_block");
const FailStep kPutBlockListStep("blob.put_block_list");
const FailStep kChangeBlobStep("blob.change_blob");

// All block ids of a blob have the same length; a new block counts against the limit.
Result<void> count_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                          const std::string& block_id, bool is_new, Time now) {
  const auto key = blob_keys::staged_summary(generation, name);
  auto stored = TRY(txn.get(key));
  const auto id_length = base64_decode(block_id).value_or("").size();
  records::StagedSummary summary{id_length, 0, now};
  if (stored) summary = TRY(records::kStagedSummary.decode(*stored));
  if (summary.id_length != id_length) return fail(ErrorCode::kInvalidBlobOrBlock);
  if (is_new && summary.count >= kMaxStagedBlocks) return fail(ErrorCode::kBlockCountExceedsLimit);
  if (is_new) ++summary.count;
  summary.last_staged = now;
  txn.put(key, records::kStagedSummary.encode(summary));
  return {};
}

/// A block blob without a tier of its own takes that of the blob that it replaces. Only workers replace archived blobs,
/// and they must be able to read the new one.
bool inherits_tier(const Blob& blob, const std::optional<Blob>& replaced) {
  return blob.type == BlobType::kBlock && blob.tier.empty() && replaced && !is_archived(*replaced);
}

}  // namespace

Task<void> BlobService::give_up(const PayloadWriter& writer) {
  if (writer.id() == 0) co_return;
  // The collector removes a file that cannot be removed now.
  static_cast<void>(co_await files_.remove({writer.id()}));
  abandon(writer.id());
}

void BlobService::abandon(std::uint64_t payload) {
  if (payload != 0) shards_[Ids::shard_of(payload)].collector.abandon(payload);
}

Result<void> BlobService::replace(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                  Blob& blob) const {
  if (current.blob) TRY(discard(txn, current, name, true));
  blob.version = TRY(next_version(txn));
  blob.created = current.blob ? current.blob->created : blob.version;
  blob.lease = current.blob ? current.blob->lease : Lease();  // an earlier run may have seen another blob
  auto stored = blob;
  if (inherits_tier(blob, current.blob)) {
    stored.tier = current.blob->tier;
    stored.tier_changed = current.blob->tier_changed;
  }
  put_blob_row(txn, current.generation, name, current.blob ? current.blob->tags : Tags(), stored);
  return {};
}

Result<void> BlobService::check_put(const BlobRef& ref, const Metadata& metadata, bool little) const {
  TRY(check_metadata(metadata));
  TRY(check_blob_name(ref.name));
  if (little) return {};
  const auto& shard = of(ref);
  if (shard.number > 0 && TRY(shard.engine.get(blob_keys::container_copy(ref.account, ref.container)))) return {};
  TRY(find_container(*catalogue().snapshot(), ref.parent()));
  return {};
}

Task<Result<Stamp>> BlobService::put_blob(BlobRef ref, NewContent content, WrittenPayload payload,
                                          Conditions conditions) {
  auto blob = blob_of(CO_TRY(checked(std::move(content))), clock_.now());
  bool leaves_work = false;
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        TRY(admit_write(conditions, current.blob, true, clock_.now()));
        TRY(check_replaced(current.blob, BlobType::kBlock));
        leaves_work = TRY(write_whole(txn, current, ref.name, payload, blob));
        return {};
      },
      &kPutBlobStep));
  auto& collector = of(ref).collector;
  leaves_work ? collector.kick() : collector.remind();
  co_return blob.version;
}

Result<bool> BlobService::write_whole(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                      const WrittenPayload& payload, Blob& blob) const {
  const bool had_staged = TRY(has_staged(txn, current.generation, name));
  if (had_staged) TRY(drop_staged(txn, current.generation, name));
  blob.size = payload.size;
  blob.content = {TRY(settle(txn, current.place.ids(), payload)), true};
  TRY(replace(txn, current, name, blob));
  return had_staged || (current.blob && !goes_at_once(current.blob->content));
}

Result<void> BlobService::write_blocks(kv::Transaction& txn, const CurrentBlob& current, const std::string& name,
                                       const std::vector<BlockChoice>& choices, Blob& blob) const {
  std::vector<Extent> committed;
  if (current.blob) {
    committed = TRY(read_extents(txn, current.blob->content, current.blob->size, 0, kMaxBlocksInList));
  }
  const auto staged = TRY(find_staged(txn, current.generation, name));
  const auto resolved = TRY(resolve_block_list(choices, committed, staged));
  for (const auto payload : resolved.shared) TRY(share_payload(txn, payload));
  for (const auto payload : resolved.left_out) TRY(release_payload(txn, payload));
  if (!staged.empty()) erase_staged(txn, current.generation, name, staged);
  blob.size = resolved.size;
  blob.content = TRY(write_extents(txn, current.place.ids(), resolved.extents));
  return replace(txn, current, name, blob);
}

Result<void> BlobService::erase_blob(kv::Transaction& txn, const CurrentBlob& current, const std::string& name) const {
  TRY(drop_staged(txn, current.generation, name));
  TRY(discard(txn, current, name, false));
  erase_blob_row(txn, current.generation, name, current.blob->tags);
  return {};
}

Result<bool> BlobService::write_staged(kv::Transaction& txn, Ids ids, std::uint64_t generation, const std::string& name,
                                       const std::string& block_id, const WrittenPayload& payload) const {
  const auto key = blob_keys::staged_block(generation, name, block_id);
  auto stored = TRY(txn.get(key));
  const bool replaces = stored.has_value();
  TRY(count_staged(txn, generation, name, block_id, !replaces, clock_.now()));
  if (replaces) {
    auto old = TRY(records::kStagedBlock.decode(*stored));
    TRY(release_payload(txn, old.payload));
  }
  const auto id = TRY(settle(txn, ids, payload));
  txn.put(key, records::kStagedBlock.encode(StagedBlock{id, payload.size}));
  return replaces;
}

Task<Result<void>> BlobService::put_block(BlobRef ref, std::string block_id, WrittenPayload payload,
                                          Conditions conditions) {
  bool replaced = false;
  auto done = co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        TRY(admit_write(conditions, current.blob, false, clock_.now()));
        TRY(check_replaced(current.blob, BlobType::kBlock));
        replaced = TRY(write_staged(txn, place.ids(), current.generation, ref.name, block_id, payload));
        return {};
      },
      &kPutBlockStep);
  if (done && replaced) of(ref).collector.kick();
  co_return done;
}

Task<Result<Stamp>> BlobService::put_block_list(BlobRef ref, std::vector<BlockChoice> choices, NewContent content,
                                                Conditions conditions) {
  auto blob = blob_of(CO_TRY(checked(std::move(content))), clock_.now());
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        TRY(admit_write(conditions, current.blob, true, clock_.now()));
        TRY(check_replaced(current.blob, BlobType::kBlock));
        return write_blocks(txn, current, ref.name, choices, blob);
      },
      &kPutBlockListStep));
  of(ref).collector.kick();
  co_return blob.version;
}

Task<Result<Blob>> BlobService::change_blob(BlobRef ref, Conditions conditions, std::function<void(Blob&)> change) {
  Blob changed;
  CO_TRY(co_await transact(
      ref,
      [&](kv::Transaction& txn, const ShardPlace& place) -> Result<void> {
        auto current = TRY(find_current(txn, place, ref));
        if (!current.blob) return fail(ErrorCode::kBlobNotFound);
        TRY(admit_write(conditions, current.blob, false, clock_.now()));
        if (is_archived(*current.blob)) return fail(ErrorCode::kBlobArchived);
        current.blob->version = TRY(next_version(txn));
        const auto before = current.blob->tags;
        change(*current.blob);
        put_blob_row(txn, current.generation, ref.name, before, *current.blob);
        changed = std::move(*current.blob);
        return {};
      },
      &kChangeBlobStep));
  co_return changed;
}

Task<Result<Blob>> BlobService::set_headers(BlobRef ref, ContentHeaders headers, Conditions conditions) {
  CO_TRY(check_content_headers(headers));
  co_return co_await change_blob(std::move(ref), std::move(conditions), [&](Blob& blob) {
    blob.headers = headers;
    blob.copy.reset();  // the content is no longer that of the copy
  });
}

Task<Result<Blob>> BlobService::set_metadata(BlobRef ref, Metadata metadata, Conditions conditions) {
  CO_TRY(check_metadata(metadata));
  co_return co_await change_blob(std::move(ref), std::move(conditions), [&](Blob& blob) { blob.metadata = metadata; });
}

}  // namespace tidemark::blob_store
