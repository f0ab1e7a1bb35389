// What is kept of a blob beside it: snapshots ('S'), and what was deleted or replaced while the account retains that
// ('Z'). There may be any number of them. What happens to all of them at once, such as their deletion, is visible at
// once: a mark ('V') says it, everybody reads through the mark, and the rows follow, some in each transaction. There is
// one mark of a name at most, so whoever changes what is kept settles it first (settle_some). All of it works within a
// transaction or a snapshot.
#pragma once
#include <optional>
#include <string>

#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// What becomes of all that is kept of a blob, up to a version.
struct KeptMark {
  enum class What : std::uint8_t {
    kErase = 0,   // snapshots go for good
    kRetain = 1,  // snapshots are deleted, and come back with undelete
    kRestore = 2  // what was deleted is a snapshot again
  };
  What what = What::kErase;
  Stamp through = {};
  Time at{};               // of kRetain
  std::uint32_t days = 0;  // likewise
};

/// Of one blob, in a container with this generation.
class KeptBlobs {
 public:
  KeptBlobs(std::uint64_t generation, std::string name) : generation_(generation), name_(std::move(name)) {}

  [[nodiscard]] Result<std::optional<KeptMark>> find_mark(const kv::Reader& reader) const;
  /// Nothing if it is not there, or deleted.
  [[nodiscard]] Result<std::optional<Blob>> find_snapshot(const kv::Reader& reader, Stamp version) const;
  [[nodiscard]] Result<bool> has_snapshots(const kv::Reader& reader) const;
  /// Whether undelete has something to do.
  [[nodiscard]] Result<bool> has_deleted(const kv::Reader& reader) const;

  void put_snapshot(kv::Transaction& txn, Stamp version, const Blob& blob) const;
  /// Without `days` the snapshot goes for good.
  Result<void> drop_snapshot(kv::Transaction& txn, Stamp version, Blob blob, Time now, std::uint32_t days) const;
  /// What was the blob itself, or was replaced.
  void retain(kv::Transaction& txn, Stamp version, const KeptBlob& kept) const;
  /// Takes what was the blob itself when it was deleted, the newest of them. Only the latest deletions are looked at.
  Result<std::optional<Blob>> take_deleted(kv::Transaction& txn) const;
  /// Begins to change all of them. Call it when nothing is to settle.
  Result<void> change_all(kv::Transaction& txn, KeptMark mark) const;
  /// Does a part of what a mark says. False if there is no mark.
  Result<bool> settle_some(kv::Transaction& txn) const;

 private:
  Result<void> settle_one(kv::Transaction& txn, const KeptMark& mark, Stamp version, KeptBlob kept) const;
  std::uint64_t generation_;
  std::string name_;
};

/// What is kept, seen through the mark; nothing if it is gone.
std::optional<KeptBlob> seen_through(const std::optional<KeptMark>& mark, Stamp version, KeptBlob kept);

/// Removes deleted blobs whose retention is over, at most `limit`; returns how many there were.
Result<std::size_t> purge_kept(kv::Transaction& txn, Time now, std::size_t limit);
/// Does a part of what some mark says. False if there is none.
Result<bool> settle_any(kv::Transaction& txn);

}  // namespace tidemark::blob_store
