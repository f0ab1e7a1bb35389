// Changes the extents of a page blob within a transaction. The content has rows of extents and one owner
// (own_content()).
#pragma once
#include <string>
#include <vector>

#include "blob_store/model/page_extents.h"
#include "blob_store/storage/contents.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// Bytes of a payload that is a file. They are read before the transaction, which must not wait for files.
struct FileBytes {
  PayloadId payload = 0;
  std::uint64_t from = 0;
  std::string bytes;
};

class PageEdit {
 public:
  PageEdit(kv::Transaction& txn, Ids ids, std::uint64_t content) : txn_(txn), ids_(ids), content_(content) {}

  /// Replaces the contents of the range by the extents, each of which owns its payload.
  Result<void> replace(const ByteRange& range, const std::vector<Extent>& fresh);
  /// Turns the range into a hole, or only the part at its front that has `limit` extents. Returns the end of the hole.
  Result<std::uint64_t> clear(const ByteRange& range, std::size_t limit);
  /// Rewrites the cell as one row if it has many fragments and `files` has all bytes that are in files.
  Result<void> pack(const ByteRange& cell, const std::vector<FileBytes>& files);
  /// Gives up the replaced payloads; files wait until the content as it was has no readers. Returns true if that makes
  /// work for the collector.
  Result<bool> finish();

 private:
  Result<std::vector<Extent>> overlapping(const ByteRange& range, std::size_t limit) const;
  Result<void> cut(const std::vector<Extent>& extents, const ByteRange& range);
  kv::Transaction& txn_;
  Ids ids_;
  std::uint64_t content_;
  std::vector<PayloadId> given_up_;
};

}  // namespace tidemark::blob_store
