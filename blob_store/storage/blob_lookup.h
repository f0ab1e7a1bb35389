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
/// kConfigInvalid if an older version of this program stored the blobs, in a format that this one does not read.
Result<void> check_stored_format(const kv::Reader& reader);
Result<std::optional<Blob>> find_blob(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// The snapshot, or the blob itself without one.
Result<std::optional<Blob>> find_version(const kv::Reader& reader, std::uint64_t generation, const BlobRef& ref);
/// Stores what find_version() found, changed. Of a snapshot when nothing is to settle (kept_blobs.h).
void put_version(kv::Transaction& txn, std::uint64_t generation, const BlobRef& ref, const Blob& blob);
Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Whether there are any costs one look.
Result<bool> has_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Removes the staged blocks of the blob, whose payloads somebody else has or are released before.
void erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const StagedBlocks& staged);
/// Removes them with their payloads.
Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name);
/// What is stored under a name now. kContainerNotFound.
struct CurrentBlob {
  std::string account;
  std::uint64_t generation = 0;
  std::optional<Blob> blob;
};
Result<CurrentBlob> find_current(const kv::Reader& reader, const BlobRef& ref);

}  // namespace tidemark::blob_store
