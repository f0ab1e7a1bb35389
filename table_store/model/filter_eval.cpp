// Evaluates a parsed $filter against one entity. Own properties are all looked up at the first comparison that needs
// one, in one walk that stops when all are found.
#include <boost/container/small_vector.hpp>
#include <cmath>

#include "table_store/model/filter.h"
#include "table_store/model/filter_node.h"
#include "table_store/model/text_order.h"

namespace tidemark::table_store {
namespace {

/// Compares exactly, unlike a comparison after conversion to double.
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

struct Number {
  bool is_whole = false;
  std::int64_t whole = 0;
  double real = 0;
};

std::optional<Number> number_of(const ValueView& value) {
  if (const auto* v = std::get_if<std::int32_t>(&value)) return Number{true, *v, 0};
  if (const auto* v = std::get_if<std::int64_t>(&value)) return Number{true, *v, 0};
  if (const auto* v = std::get_if<double>(&value)) return Number{false, 0, *v};
  return std::nullopt;
}

std::partial_ordering order_of_numbers(const Number& a, const Number& b) {
  if (a.is_whole && b.is_whole) return a.whole <=> b.whole;
  if (a.is_whole) return compare_numbers(a.whole, b.real);
  if (b.is_whole) return reversed(compare_numbers(b.whole, a.real));
  return a.real <=> b.real;
}

/// Returns nothing for types that do not compare with each other.
std::optional<std::partial_ordering> order_of(const ValueView& a, const ValueView& b) {
  if (const auto x = number_of(a)) {
    const auto y = number_of(b);
    return y ? std::optional(order_of_numbers(*x, *y)) : std::nullopt;
  }
  if (a.index() != b.index()) return std::nullopt;
  if (const auto* v = std::get_if<std::string_view>(&a)) return compare_ordinal(*v, std::get<std::string_view>(b));
  if (const auto* v = std::get_if<bool>(&a)) return *v <=> std::get<bool>(b);
  if (const auto* v = std::get_if<Time>(&a))
    return v->time_since_epoch().count() <=> std::get<Time>(b).time_since_epoch().count();
  if (const auto* v = std::get_if<Guid>(&a)) return v->bytes <=> std::get<Guid>(b).bytes;
  if (const auto* v = std::get_if<BinaryView>(&a)) return v->bytes <=> std::get<BinaryView>(b).bytes;
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

constexpr std::size_t kFewNames = 8;

/// The values of the properties that a filter names, looked up on first use.
class Slots {
 public:
  explicit Slots(const std::vector<std::string>& names) : names_(names), values_(names.size()) {}
  /// Returns null if the entity has no such property.
  template <class Source>
  const ValueView* find(std::size_t slot, const Source& source) {
    if (!filled_) fill(source);
    filled_ = true;
    const auto& value = values_[slot];
    return value ? &*value : nullptr;
  }

 private:
  void fill(const EntityParts& entity) {
    for (const auto& property : entity.properties) {
      if (const auto slot = slot_of(property.name)) values_[*slot] = view_of(property.value);
    }
  }
  void fill(const EntityView& entity) {
    auto reader = entity.properties();
    for (auto missing = names_.size(); missing > 0 && reader.next();) {
      const auto slot = slot_of(reader.name());
      if (!slot) continue;
      values_[*slot] = reader.value();
      --missing;
    }
  }

  std::optional<std::size_t> slot_of(std::string_view name) const {
    if (names_.size() <= kFewNames) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (names_[i] == name) return i;
      }
      return std::nullopt;
    }
    const auto found = std::lower_bound(names_.begin(), names_.end(), name);
    if (found == names_.end() || *found != name) return std::nullopt;
    return static_cast<std::size_t>(found - names_.begin());
  }

  const std::vector<std::string>& names_;
  boost::container::small_vector<std::optional<ValueView>, kFewNames> values_;
  bool filled_ = false;
};

template <class Source>
struct Row {
  const Source& source;
  Slots slots;
};

template <class Source>
bool evaluate_comparison(const FilterNode& node, Row<Source>& row) {
  switch (node.field) {
    case Field::kPartitionKey:
      return holds(compare_ordinal(row.source.partition_key, std::get<std::string>(node.literal)), node.op);
    case Field::kRowKey:
      return holds(compare_ordinal(row.source.row_key, std::get<std::string>(node.literal)), node.op);
    case Field::kTimestamp:
      return holds(row.source.version <=> std::get<Time>(node.literal).time_since_epoch().count(), node.op);
    case Field::kOwn:
      break;
  }
  const auto* value = row.slots.find(node.slot, row.source);
  return value != nullptr && compare_values(*value, node.op, node.literal);
}

template <class Source>
bool evaluate(const FilterNode& node, Row<Source>& row) {
  const auto matches = [&](const auto& child) { return evaluate(*child, row); };
  switch (node.kind) {
    case FilterNode::Kind::kAnd:
      return std::all_of(node.children.begin(), node.children.end(), matches);
    case FilterNode::Kind::kOr:
      return std::any_of(node.children.begin(), node.children.end(), matches);
    case FilterNode::Kind::kNot:
      return !evaluate(*node.children.front(), row);
    case FilterNode::Kind::kComparison:
      return evaluate_comparison(node, row);
    case FilterNode::Kind::kConstant:
      return node.constant;
    case FilterNode::Kind::kProperty: {
      const auto* value = row.slots.find(node.slot, row.source);
      const auto* flag = value ? std::get_if<bool>(value) : nullptr;
      return flag != nullptr && *flag;
    }
  }
  return false;
}

}  // namespace

bool compare_values(const ValueView& value, CompareOp op, const Value& literal) {
  const auto order = order_of(value, view_of(literal));
  return order && holds(*order, op);
}

bool Filter::matches(const Entity& entity) const {
  return matches(EntityParts{entity.partition_key, entity.row_key, entity.version, entity.properties});
}

bool Filter::matches(const EntityParts& entity) const {
  if (root_ == nullptr) return true;
  Row<EntityParts> row{entity, Slots(*names_)};
  return evaluate(*root_, row);
}

bool Filter::matches(const EntityView& entity) const {
  if (root_ == nullptr) return true;
  Row<EntityView> row{entity, Slots(*names_)};
  return evaluate(*root_, row);
}

}  // namespace tidemark::table_store
