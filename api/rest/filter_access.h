// How much of a table a filter makes a query read, as far as its conditions on keys tell. Pure.
#pragma once
#include <string_view>

#include "table_store/model/filter.h"

namespace tidemark::api {

/// From the least to the most: one entity, rows of a partition, one partition, some partitions, everything.
enum class FilterAccess : std::uint8_t { kPoint, kRows, kPartition, kPartitions, kTable };

FilterAccess access_of(const table_store::Filter& filter);
std::string_view access_name(FilterAccess access);  // "point", "rows", "partition", "partitions", "table"

}  // namespace tidemark::api
