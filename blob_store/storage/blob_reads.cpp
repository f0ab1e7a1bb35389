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

/// Opens the blob if its content is `kept`; otherwise returns the content that has to be kept first. Content that a
/// snapshot shows is not removed if its reader was registered before.
Result<std::uint64_t> BlobService::open_kept(const BlobRef& ref, const Conditions& conditions, bool archived,
                                             std::uint64_t kept, OpenedBlob& opened) const {
  auto& shard = of(ref);
  auto& [blob, readable] = opened;
  readable.files = &files_;
  readable.rows = shard.engine.snapshot();
  blob = TRY(existing_blob(*readable.rows, shard, ref, conditions));
  if (is_archived(blob) && !archived) return fail(ErrorCode::kBlobArchived);
  readable.content = blob.content;
  readable.size = blob.size;
  readable.sparse = blob.type == BlobType::kPage;
  const auto id = blob.content.id;
  if (id == 0 || id == kept) return std::uint64_t{0};
  if (!blob.content.whole || is_file(id)) return id;
  auto sealed = TRY(readable.rows->get(blob_keys::payload(id)));
  readable.small = TRY(open_chunk(id, 0, std::move(sealed).value_or("")));
  readable.rows.reset();
  return std::uint64_t{0};
}

namespace {

class RightHere final : public ReadingRight {
 public:
  RightHere(const Clock& clock, Readers& readers, std::uint64_t content)
      : ReadingRight(clock), ticket(readers, content) {}
  Readers::Ticket ticket;
};

}  // namespace

Result<OpenedBlob> BlobService::open_blob(const BlobRef& ref, const Conditions& conditions, bool archived) const {
  auto& shard = of(ref);
  OpenedBlob opened;
  std::shared_ptr<RightHere> right;
  for (std::uint64_t kept = 0; (kept = TRY(open_kept(ref, conditions, archived, kept, opened))) != 0;) {
    right = std::make_shared<RightHere>(clock_, shard.readers, kept);
  }
  if (right && opened.content.sparse && opened.content.rows) {
    right->ticket.reads_at(TRY(Ids(shard.number).next(*opened.content.rows)));
  }
  opened.content.right = std::move(right);
  return opened;
}

Task<Result<OpenedBlob>> BlobService::open_anywhere(BlobRef ref, Conditions conditions, bool archived) {
  const auto& shard = of(ref);
  if (serves(shard)) co_return open_blob(ref, conditions, archived);
  OpenedBlob opened;
  for (std::uint64_t kept = 0; (kept = CO_TRY(open_kept(ref, conditions, archived, kept, opened))) != 0;) {
    opened.content.right = CO_TRY(co_await right_elsewhere(shard.number, kept));
  }
  co_return opened;
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
