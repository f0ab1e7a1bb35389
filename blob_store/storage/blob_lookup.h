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
/// The snapshot, or the blob itself without one.
Result<std::optional<Blob>> find_version(const kv::Reader& reader, std::uint64_t generation, const BlobRef& ref);
Result<std::optional<KeptBlob>> find_kept(const kv::Reader& reader, std::uint64_t generation, const std::string& name,
                                          Stamp version);
Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Whether there are any costs one look.
Result<bool> has_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Removes the staged blocks of the blob, whose payloads somebody else has or are released before.
void erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const StagedBlocks& staged);
/// Removes them with their payloads.
Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name);
/// Removes deleted blobs whose retention is over, at most `limit`; returns how many there were.
Result<std::size_t> purge_kept(kv::Transaction& txn, Time now, std::size_t limit);
/// What is stored under a name now. kContainerNotFound.
struct CurrentBlob {
  std::string account;
  std::uint64_t generation = 0;
  std::optional<Blob> blob;
};
Result<CurrentBlob> find_current(const kv::Reader& reader, const BlobRef& ref);

}  // namespace tidemark::blob_store
