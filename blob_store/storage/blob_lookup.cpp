#include "blob_store/storage/blob_lookup.h"

#include <fmt/format.h>

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_tags.h"
#include "blob_store/storage/contents.h"
#include "blob_store/storage/kept_blobs.h"

namespace tidemark::blob_store {

Result<Container> find_container(const kv::Reader& reader, const ContainerRef& ref) {
  auto stored = TRY(reader.get(blob_keys::container(ref.account, ref.name)));
  if (!stored) {
    TRY(check_container_name(ref.name));
    return fail(ErrorCode::kContainerNotFound);
  }
  return records::kContainer.decode(*stored);
}

Result<void> check_stored_format(const kv::Reader& reader) {
  for (const char kind : {'C', 'B'}) {
    const auto cursor = reader.scan(blob_keys::all(kind));
    TRY(cursor->status());
    const auto value = cursor->valid() ? cursor->value() : std::string_view();
    if (value.empty() || static_cast<std::uint8_t>(value.front()) == records::kFormat) continue;
    return fail(
        ErrorCode::kConfigInvalid,
        fmt::format("the blobs in the data directory are stored in format {}, and this version reads format {}: "
                    "start the version that stored them, or name another data directory",
                    static_cast<std::uint8_t>(value.front()), records::kFormat));
  }
  return {};
}

Result<std::optional<Blob>> find_blob(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  auto stored = TRY(reader.get(blob_keys::blob(generation, name)));
  if (!stored) {
    TRY(check_blob_name(name));
    return std::optional<Blob>();
  }
  return TRY(records::kBlob.decode(*stored));
}

Result<std::optional<Blob>> find_version(const kv::Reader& reader, std::uint64_t generation, const BlobRef& ref) {
  if (!ref.snapshot) return find_blob(reader, generation, ref.name);
  return KeptBlobs(generation, ref.name).find_snapshot(reader, *ref.snapshot);
}

void put_version(kv::Transaction& txn, std::uint64_t generation, const BlobRef& ref, const Blob& blob) {
  if (!ref.snapshot) return put_blob_row(txn, generation, ref.name, blob.tags, blob);
  KeptBlobs(generation, ref.name).put_snapshot(txn, *ref.snapshot, blob);
}

Result<bool> has_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  return TRY(reader.get(blob_keys::staged_summary(generation, name))).has_value();
}

Result<StagedBlocks> find_staged(const kv::Reader& reader, std::uint64_t generation, const std::string& name) {
  StagedBlocks staged;
  if (!TRY(has_staged(reader, generation, name))) return staged;
  const auto cursor = reader.scan(blob_keys::staged_blocks(generation, name));
  for (; cursor->valid(); cursor->next()) {
    auto id = blob_keys::block_id(cursor->key());
    auto block = TRY(records::kStagedBlock.decode(cursor->value()));
    if (id) staged.emplace(std::move(*id), block);
  }
  TRY(cursor->status());
  return staged;
}

void erase_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name, const StagedBlocks& staged) {
  for (const auto& entry : staged) txn.erase(blob_keys::staged_block(generation, name, entry.first));
  txn.erase(blob_keys::staged_summary(generation, name));
}

Result<void> drop_staged(kv::Transaction& txn, std::uint64_t generation, const std::string& name) {
  if (!TRY(has_staged(txn, generation, name))) return {};
  const auto staged = TRY(find_staged(txn, generation, name));
  for (const auto& entry : staged) TRY(release_payload(txn, entry.second.payload));
  erase_staged(txn, generation, name, staged);
  return {};
}

Result<std::uint64_t> find_generation(const kv::Reader& reader, const ShardPlace& place, const ContainerRef& ref) {
  if (place.shard == 0) return TRY(find_container(reader, ref)).generation;
  const auto copy = TRY(place.containers->find(reader, ref.account, ref.name));
  if (!copy) return fail(ErrorCode::kContainerNotFound);
  return records::decode_number(copy->payload);
}

Result<CurrentBlob> find_current(const kv::Reader& reader, const ShardPlace& place, const BlobRef& ref) {
  const auto generation = TRY(find_generation(reader, place, ref.parent()));
  return CurrentBlob{place, ref.account, generation, TRY(find_blob(reader, generation, ref.name))};
}

}  // namespace tidemark::blob_store
