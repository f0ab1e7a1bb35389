#include "blob_store/model/block_list.h"

#include <unordered_map>

namespace tidemark::blob_store {

Result<ResolvedBlocks> resolve_block_list(const std::vector<BlockChoice>& choices, const std::vector<Extent>& committed,
                                          const StagedBlocks& staged) {
  std::unordered_map<std::string_view, const Extent*> committed_by_id;
  ResolvedBlocks out;
  for (const auto& extent : committed) {
    if (!extent.block_id.empty()) committed_by_id[extent.block_id] = &extent;
    if (extent.payload != 0) out.unreferenced.insert(extent.payload);
  }
  for (const auto& [id, block] : staged) {
    if (block.payload != 0) out.unreferenced.insert(block.payload);
  }
  for (const auto& choice : choices) {
    Extent extent;
    const auto fresh = staged.find(choice.id);
    const auto old = committed_by_id.find(choice.id);
    if (choice.source != BlockSource::kCommitted && fresh != staged.end()) {
      extent = {fresh->second.payload, fresh->second.size, choice.id};
    } else if (choice.source != BlockSource::kUncommitted && old != committed_by_id.end()) {
      extent = *old->second;
    } else {
      return fail(ErrorCode::kInvalidBlockList);
    }
    out.size += extent.size;
    out.unreferenced.erase(extent.payload);
    out.extents.push_back(std::move(extent));
  }
  return out;
}

}  // namespace tidemark::blob_store
