// From a filter to the keys worth reading. Pure; any thread.
//
// Ranges are over the encoded pair utf16(PartitionKey) utf16(RowKey) (common/kv/key_codec.h), so that they can be put
// behind any prefix. Together they hold every entity that can match. Their number is bounded whatever the filter: past
// the bound neighbours are joined, and the filter sorts out what that lets in.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "common/kv/engine.h"
#include "table_store/model/filter.h"

namespace tidemark::table_store {

/// utf16(pk) utf16(rk); both must be valid UTF-8.
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
  /// False: every entity in the ranges matches, so the filter need not be evaluated.
  bool filter_rows = false;
  /// For people: "point 'p' 'a'; rows 'p' ['b', 'c'); filter".
  [[nodiscard]] std::string describe() const;
};

inline constexpr std::size_t kMaxPlannedRanges = 8192;

QueryPlan plan_query(const Filter& filter);

}  // namespace tidemark::table_store
