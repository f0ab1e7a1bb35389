#include "blob_store/model/block_list.h"

#include <unordered_map>

namespace tidemark::blob_store {

Result<ResolvedBlocks> resolve_block_list(const std::vector<BlockChoice>& choices, const std::vector<Extent>& committed,
                                          const StagedBlocks& staged) {
  std::unordered_map<std::string_view, const Extent*> committed_by_id;
  ResolvedBlocks out;
  for (const auto& extent : committed) {
    if (!extent.block_id.empty()) committed_by_id[extent.block_id] = &extent;
  }
  for (const auto& entry : staged) out.left_out.insert(entry.second.payload);
  for (const auto& choice : choices) {
    Extent extent;
    const auto fresh = staged.find(choice.id);
    const auto old = committed_by_id.find(choice.id);
    if (choice.source != BlockSource::kCommitted && fresh != staged.end()) {
      extent = {0, fresh->second.size, fresh->second.payload, 0, choice.id};
      if (out.left_out.erase(extent.payload) == 0) out.shared.push_back(extent.payload);
    } else if (choice.source != BlockSource::kUncommitted && old != committed_by_id.end()) {
      extent = *old->second;
      out.shared.push_back(extent.payload);
    } else {
      return fail(ErrorCode::kInvalidBlockList);
    }
    extent.start = out.size;
    out.size += extent.size;
    out.extents.push_back(std::move(extent));
  }
  out.left_out.erase(0);
  return out;
}

}  // namespace tidemark::blob_store
