// Requirements of a definition beyond its form: its tables exist, and it is compatible with the other indexes.
#pragma once
#include <string>
#include <vector>

#include "blob_store/client/blob_client.h"
#include "indexes/store/index_store.h"

namespace tidemark::indexes {

/// Returns the reasons why this index cannot exist beside the others: rows that may meet in one destination, a circle
/// of indexes, too many for the source. Pure.
std::vector<std::string> conflicts_of(const std::string& name, const Definition& definition,
                                      const std::vector<Index>& others);

/// IndexStore::put, after these checks; kIndexInvalid lists every problem. `blobs`: null if this process reaches no
/// containers.
Task<Result<IndexStore::Stored>> declare(table_store::TableClient& tables, blob_store::BlobClient* blobs,
                                         IndexStore& store, std::string name, Definition definition);

}  // namespace tidemark::indexes
