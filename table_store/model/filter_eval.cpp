// Evaluates a parsed $filter against one entity.
#include <cmath>

#include "table_store/model/filter.h"
#include "table_store/model/filter_node.h"
#include "table_store/model/text_order.h"

namespace tidemark::table_store {
namespace {

/// Exact, unlike a comparison after conversion to double.
std::partial_ordering compare_numbers(std::int64_t a, double b) {
  constexpr double kTwoTo63 = 9223372036854775808.0;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kTwoTo63) return std::partial_ordering::less;
  if (b < -kTwoTo63) return std::partial_ordering::greater;
  const double whole = std::trunc(b);
  const auto order = a <=> static_cast<std::int64_t>(whole);
  if (order != 0) return order;
  return 0.0 <=> (b - whole);
}

std::partial_ordering reversed(std::partial_ordering order) { return 0 <=> order; }

std::optional<std::int64_t> integer_of(const Value& value) {
  if (const auto* v = std::get_if<std::int32_t>(&value)) return *v;
  if (const auto* v = std::get_if<std::int64_t>(&value)) return *v;
  return std::nullopt;
}

/// Nothing for types that do not compare with each other.
std::optional<std::partial_ordering> order_of(const Value& a, const Value& b) {
  const auto whole_a = integer_of(a);
  const auto whole_b = integer_of(b);
  const auto* real_a = std::get_if<double>(&a);
  const auto* real_b = std::get_if<double>(&b);
  if (whole_a && whole_b) return *whole_a <=> *whole_b;
  if (whole_a && real_b) return compare_numbers(*whole_a, *real_b);
  if (real_a && whole_b) return reversed(compare_numbers(*whole_b, *real_a));
  if (real_a && real_b) return *real_a <=> *real_b;
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* v = std::get_if<std::string>(&a)) return compare_ordinal(*v, std::get<std::string>(b));
  if (const auto* v = std::get_if<bool>(&a)) return *v <=> std::get<bool>(b);
  if (const auto* v = std::get_if<Time>(&a))
    return v->time_since_epoch().count() <=> std::get<Time>(b).time_since_epoch().count();
  if (const auto* v = std::get_if<Guid>(&a)) return v->bytes <=> std::get<Guid>(b).bytes;
  if (const auto* v = std::get_if<Binary>(&a)) return v->bytes <=> std::get<Binary>(b).bytes;
  return std::nullopt;
}

bool holds(std::partial_ordering order, CompareOp op) {
  switch (op) {
    case CompareOp::kEq:
      return order == 0;
    case CompareOp::kNe:
      return order != 0;
    case CompareOp::kGt:
      return order > 0;
    case CompareOp::kGe:
      return order >= 0;
    case CompareOp::kLt:
      return order < 0;
    case CompareOp::kLe:
      return order <= 0;
  }
  return false;
}

bool evaluate_comparison(const FilterNode& node, const Entity& entity) {
  switch (node.field) {
    case Field::kPartitionKey:
      return holds(compare_ordinal(entity.partition_key, std::get<std::string>(node.literal)), node.op);
    case Field::kRowKey:
      return holds(compare_ordinal(entity.row_key, std::get<std::string>(node.literal)), node.op);
    case Field::kTimestamp:
      return holds(entity.version <=> std::get<Time>(node.literal).time_since_epoch().count(), node.op);
    case Field::kOwn:
      break;
  }
  const auto* value = entity.find(node.property);
  return value != nullptr && compare_values(*value, node.op, node.literal);
}

bool evaluate(const FilterNode& node, const Entity& entity) {
  const auto matches = [&](const auto& child) { return evaluate(*child, entity); };
  switch (node.kind) {
    case FilterNode::Kind::kAnd:
      return std::all_of(node.children.begin(), node.children.end(), matches);
    case FilterNode::Kind::kOr:
      return std::any_of(node.children.begin(), node.children.end(), matches);
    case FilterNode::Kind::kNot:
      return !evaluate(*node.children.front(), entity);
    case FilterNode::Kind::kComparison:
      return evaluate_comparison(node, entity);
    case FilterNode::Kind::kConstant:
      return node.constant;
    case FilterNode::Kind::kProperty: {
      const auto* value = entity.find(node.property);
      const auto* flag = value ? std::get_if<bool>(value) : nullptr;
      return flag != nullptr && *flag;
    }
  }
  return false;
}

}  // namespace

bool compare_values(const Value& value, CompareOp op, const Value& literal) {
  const auto order = order_of(value, literal);
  return order && holds(*order, op);
}

bool Filter::matches(const Entity& entity) const { return root_ == nullptr || evaluate(*root_, entity); }

}  // namespace tidemark::table_store
