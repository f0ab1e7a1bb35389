// The content of a blob copied to another shard, which cannot share it (contents.h): the bytes, one after the other, in
// one payload of that shard, and the same extents as in the source, which all refer to it. So a copy of blocks, of
// appends or of pages has the blocks, the appends or the holes of its source.
#pragma once
#include <vector>

#include "blob_store/storage/payload.h"

namespace tidemark::blob_store {

struct CopiedContent {
  WrittenPayload payload;
  bool whole = false;           // the payload is all of it
  std::vector<Extent> extents;  // otherwise; their payload is that one, which has no id yet if it is small
};

/// Reads all of it, into a writer for a blob of the other shard. Others have their turns meanwhile.
/// kSnapshotOperationRateExceeded: it has more extents than a transaction can write.
Task<Result<CopiedContent>> copy_content(const ReadableContent& source, PayloadWriter& writer);
/// Makes it the content of a blob that is being written.
Result<Content> settle(kv::Transaction& txn, Ids ids, const CopiedContent& copied);

}  // namespace tidemark::blob_store
