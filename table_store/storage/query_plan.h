// Turns a filter into the keys worth reading. Pure; any thread.
//
// A plan consists of ranges of the encoded pair utf16(PartitionKey) utf16(RowKey) (common/kv/key_codec.h), which can be
// used with any prefix. Together they contain every entity that can match. Their number is bounded: beyond the bound,
// neighbours are joined, and the filter is evaluated for what that adds.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/kv/engine.h"
#include "table_store/model/filter.h"

namespace tidemark::table_store {

/// Returns utf16(pk) utf16(rk); both must be valid UTF-8.
std::string encode_entity_key(std::string_view partition_key, std::string_view row_key);

enum class Access {
  kPoint,       // one entity: a get
  kRows,        // a range of RowKeys in one partition
  kPartition,   // one partition
  kPartitions,  // a range of PartitionKeys
  kTable,       // everything
};

struct PlannedRange {
  Access access = Access::kTable;
  kv::KeyRange keys;
};

struct QueryPlan {
  std::vector<PlannedRange> ranges;  // in key order, disjoint; empty if nothing can match
  /// If false, every entity in the ranges matches, and the filter need not be evaluated.
  bool filter_rows = false;
};

inline constexpr std::size_t kMaxPlannedRanges = 8192;

QueryPlan plan_query(const Filter& filter);

}  // namespace tidemark::table_store
