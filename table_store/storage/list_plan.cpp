#include "table_store/storage/list_plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "table_store/model/filter_node.h"
#include "table_store/model/group_text.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMostCases = 64;
constexpr std::size_t kMostGroups = 256;
/// Up to here, every whole number is a Double, and no other whole number is the same Double.
constexpr std::int64_t kExactlyDouble = 1LL << 53;

/// The values of some properties. Null: the property may have any value.
using Case = std::vector<const Value*>;

/// Finds cases such that every entity that matches is in one of them.
class Cases {
 public:
  explicit Cases(const std::vector<std::string>& names) : names_(names) {}

  [[nodiscard]] std::vector<Case> of(const FilterNode& node) const {
    switch (node.kind) {
      case FilterNode::Kind::kAnd:
        return of_all(node.children);
      case FilterNode::Kind::kOr:
        return of_any(node.children);
      case FilterNode::Kind::kNot:
        return anything();
      case FilterNode::Kind::kConstant:
        return node.constant ? anything() : std::vector<Case>{};
      case FilterNode::Kind::kProperty:
        return is(node.property, kTrue);
      case FilterNode::Kind::kComparison:
        break;
    }
    return node.op == CompareOp::kEq ? is(name_of(node), node.literal) : anything();
  }

 private:
  static inline const Value kTrue{true};

  static std::string name_of(const FilterNode& node) {
    if (node.field == Field::kPartitionKey) return "PartitionKey";
    return node.field == Field::kRowKey ? "RowKey" : node.property;
  }
  [[nodiscard]] std::vector<Case> anything() const { return {Case(names_.size())}; }
  [[nodiscard]] std::vector<Case> is(const std::string& name, const Value& value) const {
    auto cases = anything();
    const auto found = std::ranges::find(names_, name);
    if (found != names_.end()) cases.front()[static_cast<std::size_t>(found - names_.begin())] = &value;
    return cases;
  }

  [[nodiscard]] std::vector<Case> of_any(const std::vector<std::unique_ptr<FilterNode>>& children) const {
    std::vector<Case> out;
    for (const auto& child : children) {
      std::ranges::move(of(*child), std::back_inserter(out));
      if (out.size() > kMostCases) return anything();
    }
    return out;
  }

  /// Skips a child that would make too many cases: the filter checks it anyway.
  [[nodiscard]] std::vector<Case> of_all(const std::vector<std::unique_ptr<FilterNode>>& children) const {
    auto out = anything();
    for (const auto& child : children) {
      const auto more = of(*child);
      if (out.size() * more.size() > kMostCases) continue;
      std::vector<Case> both;
      for (const auto& one : out) {
        for (const auto& other : more) both.push_back(merge(one, other));
      }
      out = std::move(both);
    }
    return out;
  }

  static Case merge(Case one, const Case& other) {
    for (std::size_t i = 0; i < one.size(); ++i) {
      if (one[i] == nullptr) one[i] = other[i];
    }
    return one;
  }

  const std::vector<std::string>& names_;
};

/// Returns the texts in keys of all values that a filter holds equal to this one: for a number, those of all types.
/// Nothing if two whole numbers may be the same Double.
std::optional<std::vector<std::string>> texts_equal_to(const Value& value) {
  const auto of_whole = [](std::int64_t number) -> std::optional<std::vector<std::string>> {
    if (number < -kExactlyDouble || number > kExactlyDouble) return std::nullopt;
    return std::vector{key_text(Value(number)), key_text(Value(static_cast<double>(number)))};
  };
  if (const auto* whole = std::get_if<std::int32_t>(&value)) return of_whole(*whole);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return of_whole(*whole);
  const auto* real = std::get_if<double>(&value);
  if (real == nullptr || std::trunc(*real) != *real) return std::vector{key_text(value)};
  if (std::abs(*real) > static_cast<double>(kExactlyDouble)) return std::nullopt;
  return of_whole(static_cast<std::int64_t>(*real));
}

RowSearch rows_of(const EntityLists& lists, const Value* partition_key, const std::string& group) {
  constexpr auto kBehindDigits = "g";
  if (!lists.in_partition) return {group, lists.row_prefix, lists.row_prefix + kBehindDigits};
  const auto prefix = lists.row_prefix + group + "_";
  return {std::get<std::string>(*partition_key), prefix, prefix + kBehindDigits};
}

bool same(const FilterNode& a, const FilterNode& b) {
  return a.kind == b.kind && a.field == b.field && a.property == b.property && a.op == b.op && a.literal == b.literal &&
         a.constant == b.constant &&
         std::ranges::equal(a.children, b.children, [](const auto& x, const auto& y) { return same(*x, *y); });
}

void add_conjuncts(const FilterNode* node, std::vector<const FilterNode*>& out) {
  if (node == nullptr) return;
  if (node->kind != FilterNode::Kind::kAnd) return out.push_back(node);
  for (const auto& child : node->children) add_conjuncts(child.get(), out);
}

/// Tells whether every match of the filter also matches the other one, because it has all of the other's conditions.
bool says_all_of(const Filter& filter, const std::string& other_text) {
  const auto other = Filter::parse(other_text);
  if (!other) return false;
  std::vector<const FilterNode*> said, needed;
  add_conjuncts(filter.root(), said);
  add_conjuncts(other->root(), needed);
  return std::ranges::all_of(needed, [&](const auto* need) {
    return std::ranges::any_of(said, [need](const auto* one) { return same(*one, *need); });
  });
}

/// Adds the groups of an entity in this case: for each of its properties, one for every equal value. Returns false if
/// there are too many.
bool add_groups(const EntityLists& lists, const Case& one, const Value* partition_key, std::vector<GroupRows>& out) {
  if (lists.in_partition && partition_key == nullptr) return false;
  std::vector<std::vector<std::string>> groups(1);
  for (std::size_t i = 0; i < lists.by.size(); ++i) {
    const auto texts = one[i] == nullptr ? std::nullopt : texts_equal_to(*one[i]);
    if (!texts) return false;
    std::vector<std::vector<std::string>> longer;
    for (const auto& group : groups) {
      for (const auto& text : *texts) longer.emplace_back(group).push_back(text);
    }
    groups = std::move(longer);
  }
  for (const auto& texts : groups) {
    const auto group = join_values(texts);
    out.push_back({group, rows_of(lists, partition_key, group)});
  }
  return out.size() <= kMostGroups;
}

}  // namespace

std::optional<std::vector<GroupRows>> groups_for(const Filter& filter, const EntityLists& lists) {
  if (filter.root() == nullptr || !says_all_of(filter, lists.filter)) return std::nullopt;
  auto names = lists.by;
  const auto partition = static_cast<std::size_t>(std::ranges::find(names, "PartitionKey") - names.begin());
  if (partition == names.size()) names.emplace_back("PartitionKey");
  std::vector<GroupRows> out;
  for (const auto& one : Cases(names).of(*filter.root())) {
    if (!add_groups(lists, one, one[partition], out)) return std::nullopt;
  }
  const auto place = [](const GroupRows& rows) { return std::tie(rows.rows.partition_key, rows.group); };
  std::ranges::sort(out, {}, place);
  const auto repeats = std::ranges::unique(out, {}, place);
  out.erase(repeats.begin(), repeats.end());
  return out;
}

bool may_be_meant(const OwnRows& rows, const EntityLists& lists) {
  if (rows.anything) return true;
  return std::ranges::all_of(lists.by, [&rows](const auto& name) {
    const bool key = name == "PartitionKey" || name == "RowKey";
    return key || std::ranges::find(rows.properties, name) != rows.properties.end();
  });
}

}  // namespace tidemark::table_store
