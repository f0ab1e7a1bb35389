// Kept blobs, which are stored beside the current blob of their name: snapshots ('S'), and blobs that were deleted or
// replaced while the account retains them ('Z'). There may be any number of them. A change of all of them at once, such
// as their deletion, is visible at once: a mark ('V') records it, all readers read through the mark, and the rows
// follow, some in each transaction. A name has at most one mark, so a change of kept blobs settles the mark first
// (settle_some). All of it works within a transaction or a snapshot.
#pragma once
#include <optional>
#include <string>

#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// A change of all kept blobs of a name, up to a version.
struct KeptMark {
  enum class What : std::uint8_t {
    kErase = 0,   // snapshots are removed for good
    kRetain = 1,  // snapshots are deleted, and undelete brings them back
    kRestore = 2  // deleted blobs become snapshots again
  };
  What what = What::kErase;
  Stamp through = {};
  Time at{};               // kRetain only
  std::uint32_t days = 0;  // kRetain only
};

/// The kept blobs of one name, in a container with this generation.
class KeptBlobs {
 public:
  KeptBlobs(std::uint64_t generation, std::string name) : generation_(generation), name_(std::move(name)) {}

  [[nodiscard]] Result<std::optional<KeptMark>> find_mark(const kv::Reader& reader) const;
  /// Returns nothing if the snapshot does not exist or is deleted.
  [[nodiscard]] Result<std::optional<Blob>> find_snapshot(const kv::Reader& reader, Stamp version) const;
  [[nodiscard]] Result<bool> has_snapshots(const kv::Reader& reader) const;
  /// Tells whether undelete has work to do.
  [[nodiscard]] Result<bool> has_deleted(const kv::Reader& reader) const;

  void put_snapshot(kv::Transaction& txn, Stamp version, const Blob& blob) const;
  /// Without `days` the snapshot is removed for good.
  Result<void> drop_snapshot(kv::Transaction& txn, Stamp version, Blob blob, Time now, std::uint32_t days) const;
  /// Keeps a blob that was deleted or replaced.
  void retain(kv::Transaction& txn, Stamp version, const KeptBlob& kept) const;
  /// Takes the newest kept blob that was current when it was deleted. Looks only at the latest deletions.
  Result<std::optional<Blob>> take_deleted(kv::Transaction& txn) const;
  /// Begins to change all of them. Call it when nothing is to settle.
  Result<void> change_all(kv::Transaction& txn, KeptMark mark) const;
  /// Does a part of the change that a mark records. Returns false if there is no mark.
  Result<bool> settle_some(kv::Transaction& txn) const;

 private:
  Result<void> settle_one(kv::Transaction& txn, const KeptMark& mark, Stamp version, KeptBlob kept) const;
  std::uint64_t generation_;
  std::string name_;
};

/// Returns the kept blob as seen through the mark; nothing if it is gone.
std::optional<KeptBlob> seen_through(const std::optional<KeptMark>& mark, Stamp version, KeptBlob kept);

/// Removes deleted blobs whose retention is over, at most `limit`; returns how many there were.
Result<std::size_t> purge_kept(kv::Transaction& txn, Time now, std::size_t limit);
/// Does a part of the change that any one mark records. Returns false if there is no mark.
Result<bool> settle_any(kv::Transaction& txn);

}  // namespace tidemark::blob_store
