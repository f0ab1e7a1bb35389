// A node of the filter becomes a set of keys (key_set.h): `or` is union, `and` is intersection, `not` is pushed down to
// the comparisons (exact there: keys are never missing). A condition on anything else stands for every key, inexactly.
#include "table_store/storage/query_plan.h"

#include "common/kv/key_codec.h"
#include "table_store/model/filter_node.h"
#include "table_store/storage/key_set.h"

namespace tidemark::table_store {
namespace {

CompareOp negation(CompareOp op) {
  using enum CompareOp;
  constexpr CompareOp kNegations[] = {kNe, kEq, kLe, kLt, kGe, kGt};
  return kNegations[static_cast<std::size_t>(op)];
}

Intervals intervals_of(CompareOp op, const std::string& text) {
  std::string at;
  kv::append_utf16(at, text);
  auto after = kv::prefix_end(at);
  switch (op) {
    case CompareOp::kEq:
      return {{at, after}};
    case CompareOp::kNe:
      return {{"", at}, {after, ""}};
    case CompareOp::kGt:
      return {{after, ""}};
    case CompareOp::kGe:
      return {{at, ""}};
    case CompareOp::kLt:
      return {{"", at}};
    case CompareOp::kLe:
      return {{"", after}};
  }
  return {{}};
}

KeySet keys_of_comparison(const FilterNode& node, bool negated) {
  if (node.field != Field::kPartitionKey && node.field != Field::kRowKey) return KeySet::everything(false);
  auto intervals = intervals_of(negated ? negation(node.op) : node.op, std::get<std::string>(node.literal));
  return node.field == Field::kPartitionKey ? KeySet::of_partitions(intervals) : KeySet::of_rows(std::move(intervals));
}

KeySet keys_of(const FilterNode& node, bool negated) {
  using Kind = FilterNode::Kind;
  switch (node.kind) {
    case Kind::kNot:
      return keys_of(*node.children.front(), !negated);
    case Kind::kComparison:
      return keys_of_comparison(node, negated);
    case Kind::kConstant:
      return node.constant != negated ? KeySet::everything(true) : KeySet{};
    case Kind::kProperty:
      return KeySet::everything(false);
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  const bool is_and = (node.kind == Kind::kAnd) != negated;  // De Morgan
  std::vector<KeySet> sets;
  sets.reserve(node.children.size());
  for (const auto& child : node.children) sets.push_back(keys_of(*child, negated));
  return combine_all(std::move(sets), is_and ? SetOp::kIntersection : SetOp::kUnion);
}

PlannedRange range_within(const Interval& partition, const Interval& rows) {
  const auto& pk = partition.lower;
  if (rows.is_everything()) return {Access::kPartition, {partition.lower, partition.upper}};
  return {rows.is_point() ? Access::kPoint : Access::kRows,
          {pk + rows.lower, rows.upper.empty() ? partition.upper : pk + rows.upper}};
}

void add_stripe(QueryPlan& plan, const Stripe& stripe) {
  if (stripe.partitions.is_point()) {
    for (const auto& rows : stripe.rows) plan.ranges.push_back(range_within(stripe.partitions, rows));
    return;
  }
  // Rows of many partitions: one walk over all of them.
  if (!stripe.rows.front().is_everything()) plan.filter_rows = true;
  const auto access = stripe.partitions.is_everything() ? Access::kTable : Access::kPartitions;
  auto* last = plan.ranges.empty() ? nullptr : &plan.ranges.back();
  if (last != nullptr && last->access == Access::kPartitions && last->keys.upper == stripe.partitions.lower) {
    last->keys.upper = stripe.partitions.upper;
    if (last->keys.lower.empty() && last->keys.upper.empty()) last->access = Access::kTable;
  } else {
    plan.ranges.push_back({access, {stripe.partitions.lower, stripe.partitions.upper}});
  }
}

}  // namespace

std::string encode_entity_key(std::string_view partition_key, std::string_view row_key) {
  std::string out;
  out.reserve(partition_key.size() + row_key.size() + 4);
  kv::append_utf16(out, partition_key);
  kv::append_utf16(out, row_key);
  return out;
}

QueryPlan plan_query(const Filter& filter) {
  QueryPlan plan;
  if (filter.matches_all()) {
    plan.ranges.emplace_back();
    return plan;
  }
  const auto keys = keys_of(*filter.root(), false);
  plan.filter_rows = !keys.exact;
  for (const auto& stripe : keys.stripes) add_stripe(plan, stripe);
  return plan;
}

}  // namespace tidemark::table_store
