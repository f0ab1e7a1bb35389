// The content of a blob copied to another shard, which cannot share it (contents.h): the bytes, one after the other, in
// one payload of that shard, and the extents of the source, which all refer to this payload. So a copy of blocks, of
// appends or of pages has the blocks, the appends or the holes of its source.
#pragma once
#include <vector>

#include "blob_store/storage/payload.h"

namespace tidemark::blob_store {

struct CopiedContent {
  WrittenPayload payload;
  bool whole = false;           // the payload is the whole content
  std::vector<Extent> extents;  // otherwise; they belong to that payload, which has no id yet if it is small
};

/// Reads the whole content into a writer for a blob of the other shard. Others have their turns meanwhile.
/// kSnapshotOperationRateExceeded: it has more extents than a transaction can write.
Task<Result<CopiedContent>> copy_content(const ReadableContent& source, PayloadWriter& writer);
/// Makes it the content of a blob that is being written.
Result<Content> settle(kv::Transaction& txn, Ids ids, const CopiedContent& copied);

}  // namespace tidemark::blob_store
