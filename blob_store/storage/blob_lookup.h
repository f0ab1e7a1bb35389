// Reads records from a snapshot or a transaction. Errors: kContainerNotFound, kBlobNotFound, kCorruption;
// for a name that nothing can have, those of model/names.h.
#pragma once
#include <optional>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

Result<Container> find_container(const kv::Reader& reader, const ContainerRef& ref);
Result<std::optional<Blob>> find_blob(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
Result<std::vector<Extent>> find_extents(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Erases every staged block of the blob from its list.
void erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const StagedBlocks& staged);
/// The same, and marks their content as dead.
Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name);
/// What is stored under a name now. kContainerNotFound.
struct CurrentBlob {
  std::uint64_t generation = 0;
  std::optional<Blob> blob;
};
Result<CurrentBlob> find_current(const kv::Reader& reader, const BlobRef& ref);

}  // namespace tidemark::blob_store
