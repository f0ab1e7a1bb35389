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

  /// Puts the extents, each of which owns its payload, in place of what is in the range.
  Result<void> replace(const ByteRange& range, const std::vector<Extent>& fresh);
  /// Makes a hole of the range, or of that part of its front that has `limit` extents. Returns where the hole ends.
  Result<std::uint64_t> clear(const ByteRange& range, std::size_t limit);
  /// If the cell has many fragments, rewrites it as one row; without all the bytes that are in files, another time.
  Result<void> pack(const ByteRange& cell, const std::vector<FileBytes>& files);
  /// Gives up the payloads of what was replaced, files once nobody reads the content as it was. True if that makes work
  /// for the collector.
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
