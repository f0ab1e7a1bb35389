// Reads records from a snapshot or a transaction. Errors: kContainerNotFound, kBlobNotFound, kCorruption;
// for a name that nothing can have, those of model/names.h.
#pragma once
#include <optional>
#include <vector>

#include "blob_store/model/blob.h"
#include "blob_store/model/block_list.h"
#include "blob_store/storage/contents.h"
#include "common/kv/catalogue_copies.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

Result<Container> find_container(const kv::Reader& reader, const ContainerRef& ref);
/// Where a transaction is, and what it knows beyond its rows. The first shard is the catalogue, and has containers and
/// service properties.
struct Place {
  std::size_t shard = 0;
  const kv::CatalogueCopies* containers = nullptr;  // on another shard
  std::uint32_t retained_days = 0;                  // likewise, what the service properties say of deleted blobs
  [[nodiscard]] Ids ids() const { return Ids(shard); }
};
/// Of the container, for what belongs to it. On a shard that is not the catalogue, kContainerNotFound also if it does
/// not know the container yet: container_rows.h.
Result<std::uint64_t> find_generation(const kv::Reader& reader, const Place& place, const ContainerRef& ref);
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
/// What is stored under a name now. kContainerNotFound: as find_generation().
struct CurrentBlob {
  Place place;
  std::string account;
  std::uint64_t generation = 0;
  std::optional<Blob> blob;
};
Result<CurrentBlob> find_current(const kv::Reader& reader, const Place& place, const BlobRef& ref);

}  // namespace tidemark::blob_store
