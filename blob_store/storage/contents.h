// The ownership of stored bytes. A content or a payload has one owner when it is made: a blob, a snapshot or a copy
// owns its content; extents and staged blocks own payloads. Further owners are counted in a row of their own ('R'), so
// an object with one owner costs no row. Snapshots and copies within the store share content, whatever its size. A
// write that changes the extents of a content makes it exclusive first (own_content).
//
// A content or payload that its last owner gives up is dead: the collector removes it once it has no readers. A row
// payload that is the whole content of a blob is erased at once, since it is read at once too.
//
// All of it works within a transaction, so content is shared only within a shard: a copy on another one has bytes of
// its own (copied_content.h).
#pragma once
#include <vector>

#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// The largest number of extent rows that one transaction copies; a content with more cannot be shared.
inline constexpr std::uint64_t kMaxSharedExtents = 100'000;

/// The ids that a shard gives to generations, contents and payloads: each shard counts separately, with its own number
/// in the upper bits, so that no id is given twice in a store. The ids of the first shard are those of a store with one
/// shard. All ids are even.
class Ids {
 public:
  explicit constexpr Ids(std::size_t shard) : first_((static_cast<std::uint64_t>(shard) << kShardShift) + 1) {}
  [[nodiscard]] Result<std::uint64_t> take(kv::Transaction& txn) const;
  /// Returns an id that is higher than all that were given.
  [[nodiscard]] Result<std::uint64_t> next(const kv::Reader& rows) const;
  [[nodiscard]] constexpr std::size_t shard() const { return shard_of(2 * first_); }
  /// Returns the number of the shard that gave an id.
  [[nodiscard]] static constexpr std::size_t shard_of(std::uint64_t id) { return id >> (kShardShift + 1); }

 private:
  static constexpr unsigned kShardShift = 48;
  std::uint64_t first_;
};

constexpr bool is_file(PayloadId payload) { return (payload & 1) != 0; }

/// Adds an owner to the content and marks it as shared. The caller stores the mark with both owners.
Result<void> share(kv::Transaction& txn, Content& content);
/// Call it before a page blob is shared: kSnapshotOperationRateExceeded if no write could own its content afterwards.
Result<void> check_sharable(const kv::Reader& reader, const Blob& blob);
/// Tells whether a content that is given up is gone at once, and leaves no work to the collector.
constexpr bool goes_at_once(const Content& content) {
  return content.id == 0 || (content.whole && !is_file(content.id));
}
/// Called when an owner gives its content up.
Result<void> release(kv::Transaction& txn, const Content& content);
/// Adds owners to the payload.
Result<void> share_payload(kv::Transaction& txn, PayloadId payload, std::uint64_t more = 1);
/// Called when an owner gives up its payload. A row without another owner is erased at once: readers have snapshots.
Result<void> release_payload(kv::Transaction& txn, PayloadId payload);
/// Likewise releases payloads of a content that goes on without them. Files wait for its former readers (readers.h).
Result<void> release_after_readers(kv::Transaction& txn, Ids ids, const std::vector<PayloadId>& payloads,
                                   std::uint64_t content);
/// Returns false if there are other owners, and counts one fewer.
Result<bool> last_owner_leaves(kv::Transaction& txn, std::uint64_t id);

/// Makes a content of extents, which are in order and, except in page blobs, without gaps.
Result<Content> write_extents(kv::Transaction& txn, Ids ids, const std::vector<Extent>& extents);
void put_extent(kv::Transaction& txn, std::uint64_t content, const Extent& extent, std::uint64_t number);
/// Returns the extents that hold or follow `start`, at most `limit`.
Result<std::vector<Extent>> read_extents(const kv::Reader& reader, const Content& content, std::uint64_t size,
                                         std::uint64_t start, std::size_t limit);
/// Makes sure that the content has rows of extents, and no other owner, so the owner of `size` bytes can change it.
Result<void> own_content(kv::Transaction& txn, Ids ids, Content& content, std::uint64_t size);

/// The contents of a 'D' row.
struct Dead {
  enum class Kind : std::uint8_t { kPayload, kExtents };
  Kind kind = Kind::kPayload;
  std::uint64_t read_through = 0;  // it is not removed while this content has readers
};

}  // namespace tidemark::blob_store
