#include "blob_store/storage/blob_holdings.h"

#include <array>

#include "blob_store/model/names.h"
#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::blob_store {
namespace {

/// The kinds of rows that stand for content.
constexpr std::array<char, 4> kKinds = {'B', 'K', blob_keys::kSnapshot, blob_keys::kDeleted};

std::uint64_t bytes_of(const kv::Reader& rows, const Blob& blob) {
  if (blob.type != BlobType::kPage) return blob.size;
  std::uint64_t bytes = 0;
  const auto extents = rows.scan(blob_keys::extents(blob.content.id));
  for (; extents->valid(); extents->next()) {
    const auto extent = records::kExtent.decode(extents->value());
    bytes += extent ? extent->size : 0;
  }
  return bytes;
}

}  // namespace

Result<void> each_container(const kv::Reader& rows, const std::string& account,
                            const std::function<Result<void>(std::span<const kv::KeyRange>)>& each) {
  const auto containers = rows.scan(blob_keys::containers(account, "", ""));
  for (; containers->valid(); containers->next()) {
    if (blob_keys::container_name(containers->key()) == kLogContainer) continue;
    const auto generation = TRY(records::kContainer.decode(containers->value())).generation;
    std::array<kv::KeyRange, kKinds.size()> ranges;
    for (std::size_t i = 0; i < kKinds.size(); ++i) ranges.at(i) = blob_keys::all(kKinds.at(i), generation);
    TRY(each(ranges));
  }
  return containers->status();
}

std::uint64_t content_bytes(const kv::Reader& rows, std::string_view key, std::string_view value) {
  if (key.starts_with('B')) {
    const auto blob = records::kBlob.decode(value);
    return blob ? bytes_of(rows, *blob) : 0;
  }
  if (key.starts_with('K')) {
    const auto block = records::kStagedBlock.decode(value);
    return block ? block->size : 0;
  }
  const auto kept = records::kKeptBlob.decode(value);
  return kept ? bytes_of(rows, kept->blob) : 0;
}

}  // namespace tidemark::blob_store
