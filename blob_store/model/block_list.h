// Block lists: decide which blocks become the blob, and which staged ones are no longer needed. Pure.
// Errors: kInvalidBlockList.
#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "blob_store/model/blob.h"
#include "common/base/error.h"

namespace tidemark::blob_store {

enum class BlockSource : std::uint8_t { kLatest = 1, kCommitted = 2, kUncommitted = 3, kLast = kUncommitted };

struct BlockChoice {
  BlockSource source = BlockSource::kLatest;
  std::string id;  // base64, as written
};

struct StagedBlock {
  PayloadId payload = 0;
  std::uint64_t size = 0;
};
using StagedBlocks = std::map<std::string, StagedBlock, std::less<>>;

struct ResolvedBlocks {
  std::vector<Extent> extents;
  std::uint64_t size = 0;
  std::vector<PayloadId> shared;  // one for each extent of a payload that has an owner: a committed or repeated block
  std::set<PayloadId> left_out;   // payloads of staged blocks that are not in the list
};

Result<ResolvedBlocks> resolve_block_list(const std::vector<BlockChoice>& choices, const std::vector<Extent>& committed,
                                          const StagedBlocks& staged);

inline constexpr std::size_t kMaxBlocksInList = 50'000;
inline constexpr std::uint64_t kMaxStagedBlocks = 100'000;

}  // namespace tidemark::blob_store
