// The operations that read: each reads one snapshot, on the caller's thread.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "blob_store/storage/contents.h"
#include "common/kv/key_codec.h"

namespace tidemark::blob_store {

Result<Blob> BlobService::existing_blob(const kv::Reader& rows, const Shard& shard, const BlobRef& ref,
                                        const Conditions& conditions) const {
  const auto generation = TRY(generation_in(rows, shard, ref.parent()));
  auto blob = TRY(find_version(rows, generation, ref));
  if (!blob) return fail(ErrorCode::kBlobNotFound);
  TRY(admit_read(conditions, *blob, clock_.now()));
  return std::move(*blob);
}

Result<std::optional<Blob>> BlobService::current_blob(const BlobRef& ref) const {
  const auto& shard = of(ref);
  const auto rows = shard.engine.snapshot();
  return find_blob(*rows, TRY(generation_in(*rows, shard, ref.parent())), ref.name);
}

Result<Blob> BlobService::get_blob(const BlobRef& ref, const Conditions& conditions) const {
  const auto& shard = of(ref);
  return existing_blob(*shard.engine.snapshot(), shard, ref, conditions);
}

Result<OpenedBlob> BlobService::open_blob(const BlobRef& ref, const Conditions& conditions, bool archived) const {
  auto& shard = of(ref);
  OpenedBlob opened;
  opened.content.files = &files_;
  for (std::uint64_t noted = 0;;) {
    opened.content.rows = shard.engine.snapshot();
    opened.blob = TRY(existing_blob(*opened.content.rows, shard, ref, conditions));
    if (is_archived(opened.blob) && !archived) return fail(ErrorCode::kBlobArchived);
    const auto& content = opened.blob.content;
    // Content that this snapshot shows is not removed if the reader was registered before.
    if (content.id == 0 || content.id == noted) break;
    if (content.whole && !is_file(content.id)) {
      auto sealed = TRY(opened.content.rows->get(blob_keys::payload(content.id)));
      opened.content.small = TRY(open_chunk(content.id, 0, std::move(sealed).value_or("")));
      opened.content.rows.reset();
      break;
    }
    noted = content.id;
    opened.content.ticket = std::make_shared<Readers::Ticket>(shard.readers, noted);
  }
  opened.content.content = opened.blob.content;
  opened.content.size = opened.blob.size;
  opened.content.sparse = opened.blob.type == BlobType::kPage;
  if (opened.content.sparse && opened.content.ticket) {
    opened.content.ticket->reads_at(TRY(Ids(shard.number).next(*opened.content.rows)));
  }
  return opened;
}

Result<BlockLists> BlobService::get_block_lists(const BlobRef& ref, const Conditions& conditions) const {
  const auto& shard = of(ref);
  const auto snapshot = shard.engine.snapshot();
  const auto generation = TRY(generation_in(*snapshot, shard, ref.parent()));
  BlockLists lists;
  lists.blob = TRY(find_version(*snapshot, generation, ref));
  if (!ref.snapshot) lists.staged = TRY(find_staged(*snapshot, generation, ref.name));
  if (!lists.blob && lists.staged.empty()) return fail(ErrorCode::kBlobNotFound);
  if (lists.blob) {
    TRY(admit_read(conditions, *lists.blob, clock_.now()));
    if (lists.blob->type != BlobType::kBlock) return fail(ErrorCode::kInvalidBlobType);
    lists.committed = TRY(read_extents(*snapshot, lists.blob->content, lists.blob->size, 0, kMaxBlocksInList));
    std::erase_if(lists.committed, [](const Extent& extent) { return extent.block_id.empty(); });
  }
  return lists;
}

}  // namespace tidemark::blob_store
