// Reads records from a snapshot or a transaction. Errors: kContainerNotFound, kBlobNotFound, kCorruption; for an
// invalid name, those of model/names.h.
#pragma once
#include <optional>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "blob_store/storage/contents.h"
#include "common/kv/engine.h"
#include "common/shards/catalogue_copies.h"

namespace tidemark::blob_store {

Result<Container> find_container(const kv::Reader& reader, const ContainerRef& ref);
/// The shard of a transaction, and the facts that its rows do not have. The first shard is the catalogue, and has
/// containers and service properties.
struct ShardPlace {
  std::size_t shard = 0;
  const shards::CatalogueCopies* containers = nullptr;  // on the other shards
  std::uint32_t retained_days = 0;  // likewise; the retention of deleted blobs that the service properties set
  [[nodiscard]] Ids ids() const { return Ids(shard); }
};
/// Returns the generation of the container, for blobs in it. On a shard that is not the catalogue, kContainerNotFound
/// may also mean that the shard does not know the container yet: container_rows.h.
Result<std::uint64_t> find_generation(const kv::Reader& reader, const ShardPlace& place, const ContainerRef& ref);
/// kConfigInvalid if an older version of this program stored the blobs, in a format that this one does not read.
Result<void> check_stored_format(const kv::Reader& reader);
Result<std::optional<Blob>> find_blob(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Returns the snapshot, or without one the blob itself.
Result<std::optional<Blob>> find_version(const kv::Reader& reader, std::uint64_t generation, const BlobRef& ref);
/// Stores a changed blob that find_version() found. For a snapshot, only when nothing is to settle (kept_blobs.h).
void put_version(kv::Transaction& txn, std::uint64_t generation, const BlobRef& ref, const Blob& blob);
Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Tells whether there are any staged blocks, at the cost of one look.
Result<bool> has_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name);
/// Removes the staged blocks of the blob. Their payloads must have another owner or have been released before.
void erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const StagedBlocks& staged);
/// Removes the staged blocks with their payloads.
Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name);
/// The blob that is stored under a name now. kContainerNotFound as in find_generation().
struct CurrentBlob {
  ShardPlace place;
  std::string account;
  std::uint64_t generation = 0;
  std::optional<Blob> blob;
};
Result<CurrentBlob> find_current(const kv::Reader& reader, const ShardPlace& place, const BlobRef& ref);

}  // namespace tidemark::blob_store
