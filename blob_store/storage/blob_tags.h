// Writes the row of a blob, and with it the index by which blobs are found by their tags. Nothing else writes or erases
// such a row, but for the collector, which drops all that a deleted container had.
#pragma once
#include "blob_store/model/blob.h"
#include "common/kv/engine.h"

namespace tidemark::blob_store {

/// `before`: the tags of the blob that is replaced; none if there was no blob.
void put_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before,
                  const Blob& blob);
void erase_blob_row(kv::Transaction& txn, std::uint64_t generation, std::string_view name, const Tags& before);

}  // namespace tidemark::blob_store
