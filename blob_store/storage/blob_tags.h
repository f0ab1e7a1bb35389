// Writes the row of a blob together with the index by which searches find blobs by their tags. Only these functions
// write or erase such a row, except the collector, which drops all rows of a deleted container.
#pragma once
#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// `before`: the tags of the blob that is replaced; none if there was no blob.
void put_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before,
                  const Blob& blob);
void erase_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before);

}  // namespace tidemark::blob_store
