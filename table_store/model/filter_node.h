// The parsed form of a $filter, for the evaluator (filter.cpp) and the planner (query_plan.cpp). Immutable once parsed.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "table_store/model/property_block.h"

namespace tidemark::table_store {

enum class CompareOp { kEq, kNe, kGt, kGe, kLt, kLe };  // filter.cpp and query_plan.cpp have tables in this order
enum class Field { kPartitionKey, kRowKey, kTimestamp, kOwn };

struct FilterNode {
  enum class Kind {
    kAnd,         // children, two or more
    kOr,          // children, two or more
    kNot,         // one child
    kComparison,  // field (own: property) op literal
    kConstant,    // constant
    kProperty,    // a Boolean property by itself
  };
  Kind kind = Kind::kConstant;
  std::vector<std::unique_ptr<FilterNode>> children;
  Field field = Field::kOwn;
  std::string property;
  std::size_t slot = 0;  // of an own property: its place among the names of the filter
  CompareOp op = CompareOp::kEq;
  Value literal;
  bool constant = false;
};

/// Evaluates `value op literal` by the rules in filter.h.
bool compare_values(const ValueView& value, CompareOp op, const Value& literal);

}  // namespace tidemark::table_store
