#include "blob_store/storage/contents.h"

#include "blob_store/storage/blob_keys.h"
#include "blob_store/storage/blob_records.h"

namespace tidemark::blob_store {
namespace {

Result<std::uint64_t> further_owners(const kv::Reader& reader, std::uint64_t id) {
  auto stored = TRY(reader.get(blob_keys::references(id)));
  return stored ? records::decode_number(*stored) : Result<std::uint64_t>(0);
}

void set_further_owners(kv::Transaction& txn, std::uint64_t id, std::uint64_t count) {
  if (count == 0) return txn.erase(blob_keys::references(id));
  txn.put(blob_keys::references(id), records::encode_number(count));
}

Result<Extent> extent_of(std::string_view key, std::string_view value) {
  auto extent = TRY(records::kExtent.decode(value));
  extent.start = blob_keys::extent_start(key);
  return extent;
}

}  // namespace

Result<std::uint64_t> Ids::next(const kv::Reader& rows) const {
  const auto stored = TRY(rows.get(blob_keys::kNextId));
  return 2 * (stored ? TRY(records::decode_number(*stored)) : first_);
}

Result<std::uint64_t> Ids::take(kv::Transaction& txn) const {
  const auto id = TRY(next(txn));
  txn.put(blob_keys::kNextId, records::encode_number(id / 2 + 1));
  return id;
}

Result<void> share_payload(kv::Transaction& txn, PayloadId payload, std::uint64_t more) {
  if (payload == 0 || more == 0) return {};
  set_further_owners(txn, payload, TRY(further_owners(txn, payload)) + more);
  return {};
}

Result<bool> last_owner_leaves(kv::Transaction& txn, std::uint64_t id) {
  const auto others = TRY(further_owners(txn, id));
  if (others == 0) return true;
  set_further_owners(txn, id, others - 1);
  return false;
}

Result<void> share(kv::Transaction& txn, Content& content) {
  if (content.id == 0) return {};
  content.shared = true;
  return share_payload(txn, content.id);
}

Result<void> check_sharable(const kv::Reader& reader, const Blob& blob) {
  if (blob.type != BlobType::kPage || blob.content.id == 0) return {};
  const auto cursor = reader.scan(blob_keys::extents(blob.content.id));
  std::uint64_t count = 0;
  for (; cursor->valid() && count <= kMaxSharedExtents; cursor->next()) ++count;
  TRY(cursor->status());
  return count > kMaxSharedExtents ? fail(ErrorCode::kSnapshotOperationRateExceeded) : Result<void>();
}

Result<void> release(kv::Transaction& txn, const Content& content) {
  if (content.id == 0) return {};
  if (content.shared && !TRY(last_owner_leaves(txn, content.id))) return {};
  if (goes_at_once(content)) {
    txn.erase(blob_keys::payload(content.id));
    return {};
  }
  const auto kind = content.whole ? Dead::Kind::kPayload : Dead::Kind::kExtents;
  txn.put(blob_keys::dead(content.id), records::kDead.encode({kind, content.id}));
  return {};
}

Result<void> release_payload(kv::Transaction& txn, PayloadId payload) {
  if (payload == 0 || !TRY(last_owner_leaves(txn, payload))) return {};
  if (is_file(payload)) {
    txn.put(blob_keys::dead(payload), records::kDead.encode({}));
  } else {
    txn.erase(blob_keys::payload(payload));
  }
  return {};
}

// The payloads get a dead content as their owner, since otherwise their last owner might leave while they are read.
Result<void> release_after_readers(kv::Transaction& txn, Ids ids, const std::vector<PayloadId>& payloads,
                                   std::uint64_t content) {
  const auto grave = TRY(ids.take(txn));
  std::uint64_t number = 0;
  for (const auto payload : payloads) put_extent(txn, grave, {0, 0, payload, 0, {}}, number++);
  txn.put(blob_keys::dead(grave), records::kDead.encode({Dead::Kind::kExtents, content}));
  return {};
}

// Only blocks without bytes can begin where another extent begins.
void put_extent(kv::Transaction& txn, std::uint64_t content, const Extent& extent, std::uint64_t number) {
  txn.put(blob_keys::extent(content, extent.start, number), records::kExtent.encode(extent));
}

void put_extents(kv::Transaction& txn, std::uint64_t content, const std::vector<Extent>& extents) {
  std::uint64_t number = 0;
  const Extent* before = nullptr;
  for (const auto& extent : extents) {
    number = before != nullptr && before->start == extent.start ? number + 1 : 0;
    put_extent(txn, content, extent, number);
    before = &extent;
  }
}

Result<Content> write_extents(kv::Transaction& txn, Ids ids, const std::vector<Extent>& extents) {
  if (extents.empty()) return Content{};
  const Content content{TRY(ids.take(txn))};
  put_extents(txn, content.id, extents);
  return content;
}

Result<std::vector<Extent>> read_extents(const kv::Reader& reader, const Content& content, std::uint64_t size,
                                         std::uint64_t start, std::size_t limit) {
  std::vector<Extent> extents;
  if (content.id == 0 || limit == 0) return extents;
  if (content.whole) {
    extents.push_back({0, size, content.id, 0, {}});
    return extents;
  }
  auto range = blob_keys::extents_from(content.id, start);
  if (start > 0) {  // at the beginning, blocks without bytes come before the one that holds the first byte
    const auto before = reader.scan(blob_keys::extents_up_to(content.id, start), kv::Direction::kReverse);
    if (before->valid()) range.lower = std::string(before->key());
    TRY(before->status());
  }
  const auto cursor = reader.scan(range);
  for (; cursor->valid() && extents.size() < limit; cursor->next()) {
    auto extent = TRY(extent_of(cursor->key(), cursor->value()));
    if (extent.start >= size && extent.size > 0) break;  // appended after the snapshot that is being read
    if (extent.start + extent.size > start || extent.size == 0) extents.push_back(std::move(extent));
  }
  TRY(cursor->status());
  return extents;
}

Result<void> own_content(kv::Transaction& txn, Ids ids, Content& content, std::uint64_t size) {
  if (content.id != 0 && !content.whole && !content.shared) return {};
  auto extents = TRY(read_extents(txn, content, size, 0, kMaxSharedExtents + 1));
  if (extents.size() > kMaxSharedExtents) return fail(ErrorCode::kSnapshotOperationRateExceeded);
  const bool shared = content.shared && !TRY(last_owner_leaves(txn, content.id));
  if (!shared && content.id != 0 && !content.whole) {
    content.shared = false;
    return {};
  }
  const Content old = content;
  content = {TRY(ids.take(txn))};
  put_extents(txn, content.id, extents);
  // The only owner of a whole payload hands it over to the one extent.
  if (!shared && old.whole) return {};
  for (const auto& extent : extents) TRY(share_payload(txn, extent.payload));
  return {};
}

}  // namespace tidemark::blob_store
