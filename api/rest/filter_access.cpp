#include "api/rest/filter_access.h"

#include <algorithm>

#include "table_store/model/filter_node.h"

namespace tidemark::api {
namespace {

using table_store::CompareOp;
using table_store::Field;
using table_store::FilterNode;

/// How a filter restricts a key.
enum class Bound : std::uint8_t { kNone, kRange, kValue };

struct Keys {
  Bound partition = Bound::kNone;
  Bound row = Bound::kNone;
};

Bound bound_of(CompareOp op) {
  if (op == CompareOp::kEq) return Bound::kValue;
  return op == CompareOp::kNe ? Bound::kNone : Bound::kRange;
}

Keys keys_of(const FilterNode& node) {
  Keys out;
  if (node.kind == FilterNode::Kind::kComparison) {
    if (node.field == Field::kPartitionKey) out.partition = bound_of(node.op);
    if (node.field == Field::kRowKey) out.row = bound_of(node.op);
    return out;
  }
  const bool all = node.kind == FilterNode::Kind::kAnd;
  if (!all && node.kind != FilterNode::Kind::kOr) return out;
  if (!all) out = {Bound::kValue, Bound::kValue};
  for (const auto& child : node.children) {
    const auto keys = keys_of(*child);
    out.partition = all ? std::max(out.partition, keys.partition) : std::min(out.partition, keys.partition);
    out.row = all ? std::max(out.row, keys.row) : std::min(out.row, keys.row);
  }
  return out;
}

}  // namespace

FilterAccess access_of(const table_store::Filter& filter) {
  if (filter.root() == nullptr) return FilterAccess::kTable;
  const auto keys = keys_of(*filter.root());
  if (keys.partition == Bound::kNone) return FilterAccess::kTable;
  if (keys.partition == Bound::kRange) return FilterAccess::kPartitions;
  if (keys.row == Bound::kValue) return FilterAccess::kPoint;
  return keys.row == Bound::kRange ? FilterAccess::kRows : FilterAccess::kPartition;
}

std::string_view access_name(FilterAccess access) {
  switch (access) {
    case FilterAccess::kPoint:
      return "point";
    case FilterAccess::kRows:
      return "rows";
    case FilterAccess::kPartition:
      return "partition";
    case FilterAccess::kPartitions:
      return "partitions";
    case FilterAccess::kTable:
      break;
  }
  return "table";
}

}  // namespace tidemark::api
