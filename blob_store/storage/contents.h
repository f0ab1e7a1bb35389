// Who owns stored bytes. A content or a payload has one owner when it is made: a blob, a snapshot or a copy owns its
// content; extents and staged blocks own payloads. Further owners are counted in a row of their own ('R'), so what has
// one owner costs no row. Snapshots and copies within the store share content, whatever its size. Whoever changes the
// extents of a content first makes it his own (own_content).
//
// What the last owner gives up dies: the collector removes it once nobody reads it any more. A row payload that is the
// whole content of a blob is erased at once, since it is read at once too.
//
// All of it works within a transaction, so what is shared is on one shard: a copy on another one has bytes of its own
// (copied_content.h).
#pragma once
#include <vector>

#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Rows of extents that one transaction copies at most; a content of more can't be shared.
inline constexpr std::uint64_t kMaxSharedExtents = 100'000;

/// The ids that a shard gives to generations, contents and payloads: each shard counts by itself, with its own number
/// in the upper bits, so that no id is given twice in a store. Those of the first shard are the ids of a store that is
/// not divided. All are even.
class Ids {
 public:
  explicit constexpr Ids(std::size_t shard) : first_((static_cast<std::uint64_t>(shard) << kShardShift) + 1) {}
  [[nodiscard]] Result<std::uint64_t> take(kv::Transaction& txn) const;
  /// None that was given is as high.
  [[nodiscard]] Result<std::uint64_t> next(const kv::Reader& rows) const;
  [[nodiscard]] constexpr std::size_t shard() const { return shard_of(2 * first_); }
  /// The number of the shard that gave an id.
  [[nodiscard]] static constexpr std::size_t shard_of(std::uint64_t id) { return id >> (kShardShift + 1); }

 private:
  static constexpr unsigned kShardShift = 48;
  std::uint64_t first_;
};

constexpr bool is_file(PayloadId payload) { return (payload & 1) != 0; }

/// One more owner for the content. Marks it as shared, which the caller stores with both owners.
Result<void> share(kv::Transaction& txn, Content& content);
/// Before a page blob is shared: kSnapshotOperationRateExceeded if nobody could make it his own again.
Result<void> check_sharable(const kv::Reader& reader, const Blob& blob);
/// Whether a content that is given up is gone at once, and leaves nothing to the collector.
constexpr bool goes_at_once(const Content& content) {
  return content.id == 0 || (content.whole && !is_file(content.id));
}
/// An owner gives its content up.
Result<void> release(kv::Transaction& txn, const Content& content);
/// So many more owners for the payload.
Result<void> share_payload(kv::Transaction& txn, PayloadId payload, std::uint64_t more = 1);
/// An owner gives its payload up. A row that was his alone is erased at once: readers have their snapshots of rows.
Result<void> release_payload(kv::Transaction& txn, PayloadId payload);
/// Likewise payloads of a content that goes on without them. Files wait for those who read it as it was (readers.h).
Result<void> release_after_readers(kv::Transaction& txn, Ids ids, const std::vector<PayloadId>& payloads,
                                   std::uint64_t content);
/// False if others own it as well, and now one fewer does.
Result<bool> last_owner_leaves(kv::Transaction& txn, std::uint64_t id);

/// A content made of extents, which are in order and without gaps in all but page blobs.
Result<Content> write_extents(kv::Transaction& txn, Ids ids, const std::vector<Extent>& extents);
void put_extent(kv::Transaction& txn, std::uint64_t content, const Extent& extent, std::uint64_t number);
/// Extents that hold or follow `start`, at most `limit`.
Result<std::vector<Extent>> read_extents(const kv::Reader& reader, const Content& content, std::uint64_t size,
                                         std::uint64_t start, std::size_t limit);
/// Makes sure that the content has rows of extents, and no other owner: what the owner of `size` bytes then changes is
/// nobody else's.
Result<void> own_content(kv::Transaction& txn, Ids ids, Content& content, std::uint64_t size);

/// What a 'D' row says.
struct Dead {
  enum class Kind : std::uint8_t { kPayload, kExtents };
  Kind kind = Kind::kPayload;
  std::uint64_t read_through = 0;  // it is not removed while somebody reads this content
};

}  // namespace tidemark::blob_store
