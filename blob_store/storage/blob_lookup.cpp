#include "blob_store/storage/blob_lookup.h"

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::blob_store {

Result<Container> find_container(const kv::Reader& reader, const ContainerRef& ref) {
  auto stored = reader.get(keys::container(ref.account, ref.name));
  if (!stored) return fail(std::move(stored.error()));
  if (!*stored) return fail(ErrorCode::kContainerNotFound);
  return records::decode_container(**stored);
}

Result<std::optional<Blob>> find_blob(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  auto stored = reader.get(keys::blob(generation, name));
  if (!stored) return fail(std::move(stored.error()));
  if (!*stored) return std::optional<Blob>();
  auto blob = records::decode_blob(**stored);
  if (!blob) return fail(std::move(blob.error()));
  return std::optional<Blob>(std::move(*blob));
}

Result<std::vector<Extent>> find_extents(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  auto stored = reader.get(keys::extents(generation, name));
  if (!stored) return fail(std::move(stored.error()));
  if (!*stored) return std::vector<Extent>();
  return records::decode_extents(**stored);
}

Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  StagedBlocks staged;
  const auto cursor = reader.scan(keys::staged_blocks(generation, name));
  for (; cursor->valid(); cursor->next()) {
    auto id = keys::block_id(cursor->key());
    auto block = records::decode_staged_block(cursor->value());
    if (!block) return fail(std::move(block.error()));
    if (id) staged.emplace(std::move(*id), *block);
  }
  if (auto status = cursor->status(); !status) return fail(std::move(status.error()));
  return staged;
}

Result<void> erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name,
                          const StagedBlocks& staged) {
  for (const auto& entry : staged) txn.erase(keys::staged_block(generation, name, entry.first));
  txn.erase(keys::staged_summary(generation, name));
  return {};
}

Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name) {
  auto staged = find_staged(txn, generation, name);
  if (!staged) return fail(std::move(staged.error()));
  for (const auto& entry : *staged) {
    if (entry.second.payload != 0) txn.put(keys::dead(entry.second.payload), "");
  }
  return erase_staged(txn, generation, name, *staged);
}

Result<CurrentBlob> find_current(const kv::Reader& reader, const BlobRef& ref) {
  auto container = find_container(reader, ref.parent());
  if (!container) return fail(std::move(container.error()));
  auto blob = find_blob(reader, container->generation, ref.name);
  if (!blob) return fail(std::move(blob.error()));
  return CurrentBlob{container->generation, std::move(*blob)};
}

}  // namespace tidemark::blob_store
