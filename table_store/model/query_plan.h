// From a filter to the keys worth reading. Pure; any thread.
//
// Ranges are over the encoded pair utf16(PartitionKey) utf16(RowKey) (common/kv/key_codec.h), so that they can be put
// behind any prefix. Together they hold every entity that can match, and possibly others: the filter is still
// evaluated per entity. A point is a range that only one key is in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/kv/engine.h"
#include "table_store/model/filter.h"

namespace tidemark::table_store {

/// utf16(pk) utf16(rk); both must be valid UTF-8.
std::string encode_entity_key(std::string_view partition_key, std::string_view row_key);

/// In key order, disjoint; empty if nothing can match.
std::vector<kv::KeyRange> plan_ranges(const Filter& filter);

}  // namespace tidemark::table_store
