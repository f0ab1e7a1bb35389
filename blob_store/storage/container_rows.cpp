#include "blob_store/storage/container_rows.h"

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"
#include "common/kv/generations.h"

namespace tidemark::blob_store {

using shards::CatalogueCopies;

Result<std::optional<CatalogueCopies::Copy>> ContainerRows::read(const kv::Reader& catalogue, std::string_view account,
                                                                 std::string_view name) const {
  const auto stored = TRY(catalogue.get(blob_keys::container(account, name)));
  if (!stored) return std::optional<CatalogueCopies::Copy>();
  const auto generation = TRY(records::kContainer.decode(*stored)).generation;
  return std::optional(CatalogueCopies::Copy{generation, records::encode_number(generation)});
}

Result<void> ContainerRows::change_shard(kv::Transaction& txn, std::size_t, const std::string&, const std::string&,
                                         const CatalogueCopies::Change& change) const {
  kv::drop_generation(txn, blob_keys::kDroppedGeneration, TRY(records::decode_number(change.what)));
  return {};
}

Result<void> ContainerRows::change_row(kv::Transaction& txn, const std::string& account, const std::string& name,
                                       const CatalogueCopies::Change&) const {
  txn.erase(blob_keys::container(account, name));
  return {};
}

CatalogueCopies::Change dropped(const Container& container, std::uint64_t version) {
  return {version, std::nullopt, records::encode_number(container.generation)};
}

}  // namespace tidemark::blob_store
