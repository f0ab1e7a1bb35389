// The operations that read: each from one snapshot, on the caller's thread.
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_lookup.h"
#include "blob_store/storage/blob_records.h"
#include "blob_store/storage/blob_service.h"
#include "common/kv/key_codec.h"

namespace tidemark::blob_store {
namespace {

Result<Blob> existing_blob(const kv::Reader& reader, std::uint64_t generation, const BlobRef& ref,
                           const Conditions& conditions) {
  auto blob = TRY(find_blob(reader, generation, ref.name));
  if (!blob) return fail(ErrorCode::kBlobNotFound);
  TRY(check_read(conditions, blob->version));
  return std::move(*blob);
}

// The part of `name` up to and with the first delimiter after the prefix; empty if there is none.
std::string_view common_prefix(std::string_view name, const ListRequest& request) {
  if (request.delimiter.empty()) return {};
  const auto at = name.find(request.delimiter, request.prefix.size());
  return at == std::string_view::npos ? std::string_view{} : name.substr(0, at + request.delimiter.size());
}

}  // namespace

Result<Blob> BlobService::get_blob(const BlobRef& ref, const Conditions& conditions) const {
  const auto snapshot = engine_.snapshot();
  return existing_blob(*snapshot, TRY(find_container(*snapshot, ref.parent())).generation, ref, conditions);
}

Result<OpenedBlob> BlobService::open_blob(const BlobRef& ref, const Conditions& conditions) const {
  OpenedBlob opened;
  opened.snapshot = engine_.snapshot();
  const auto generation = TRY(find_container(*opened.snapshot, ref.parent())).generation;
  opened.blob = TRY(existing_blob(*opened.snapshot, generation, ref, conditions));
  opened.extents = TRY(find_extents(*opened.snapshot, generation, ref.name));
  return opened;
}

Result<BlockLists> BlobService::get_block_lists(const BlobRef& ref) const {
  const auto snapshot = engine_.snapshot();
  auto container = TRY(find_container(*snapshot, ref.parent()));
  auto blob = TRY(find_blob(*snapshot, container.generation, ref.name));
  auto extents = TRY(find_extents(*snapshot, container.generation, ref.name));
  auto staged = TRY(find_staged(*snapshot, container.generation, ref.name));
  if (!blob && staged.empty()) return fail(ErrorCode::kBlobNotFound);
  std::erase_if(extents, [](const Extent& extent) { return extent.block_id.empty(); });
  return BlockLists{std::move(blob), std::move(extents), std::move(staged)};
}

Result<ListPage<NamedContainer>> BlobService::list_containers(const std::string& account,
                                                              const ListRequest& request) const {
  ListPage<NamedContainer> page;
  const auto snapshot = engine_.snapshot();
  const auto cursor = snapshot->scan(blob_keys::containers(account, request.prefix, request.from));
  for (; cursor->valid(); cursor->next()) {
    auto name = blob_keys::container_name(cursor->key());
    if (!name) return fail(ErrorCode::kCorruption);
    if (page.items.size() == request.limit) {
      page.next = std::move(*name);
      break;
    }
    page.items.push_back({std::move(*name), TRY(records::kContainer.decode(cursor->value()))});
  }
  TRY(cursor->status());
  return page;
}

Result<ListPage<ListedBlob>> BlobService::list_blobs(const ContainerRef& ref, const ListRequest& request) const {
  ListPage<ListedBlob> page;
  const auto snapshot = engine_.snapshot();
  auto container = TRY(find_container(*snapshot, ref));
  auto range = blob_keys::blobs(container.generation, request.prefix, request.from);
  auto cursor = snapshot->scan(range);
  while (cursor->valid()) {
    const std::string name(blob_keys::blob_name(cursor->key()));
    if (page.items.size() == request.limit) {
      page.next = name;
      break;
    }
    if (const auto folded = common_prefix(name, request); !folded.empty()) {
      page.items.push_back({std::string(folded), std::nullopt});
      // Past everything that folds into the same prefix, however much it is.
      range.lower = kv::prefix_end(blob_keys::blob(container.generation, folded));
      cursor = snapshot->scan(range);
      continue;
    }
    page.items.push_back({name, TRY(records::kBlob.decode(cursor->value()))});
    cursor->next();
  }
  TRY(cursor->status());
  return page;
}

}  // namespace tidemark::blob_store
