// A node of the filter becomes a set of keys (key_set.h): `or` is union, `and` is intersection, `not` is pushed down to
// the comparisons (exact there: keys are never missing). What says nothing about keys is every key, inexactly.
#include "table_store/storage/query_plan.h"

#include "common/kv/key_codec.h"
#include "table_store/model/filter_node.h"
#include "table_store/storage/key_set.h"

namespace tidemark::table_store {
namespace {

CompareOp negation(CompareOp op) {
  switch (op) {
    case CompareOp::kEq:
      return CompareOp::kNe;
    case CompareOp::kNe:
      return CompareOp::kEq;
    case CompareOp::kGt:
      return CompareOp::kLe;
    case CompareOp::kGe:
      return CompareOp::kLt;
    case CompareOp::kLt:
      return CompareOp::kGe;
    case CompareOp::kLe:
      return CompareOp::kGt;
  }
  return op;
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

std::string key_text(std::string_view encoded_part) {
  auto rest = encoded_part;
  auto text = kv::take_utf16(rest);
  return text ? "'" + *text + "'" : "?";
}

/// An encoded bound in the notation of intervals. The key after all that begin with a text ends with 00 02 where the
/// text's own end is 00 01.
std::string bound_text(std::string bound, bool is_lower) {
  if (bound.empty()) return is_lower ? "(" : ")";
  const bool after = bound.back() == '\2';
  if (after) bound.back() = '\1';
  if (is_lower) return (after ? "(" : "[") + key_text(bound);
  return key_text(bound) + (after ? "]" : ")");
}

std::string interval_text(const std::string& lower, const std::string& upper) {
  return bound_text(lower, true) + ", " + bound_text(upper, false);
}

std::string describe_range(const PlannedRange& range) {
  auto rest = std::string_view(range.keys.lower);
  switch (range.access) {
    case Access::kTable:
      return "table";
    case Access::kPartitions:
      return "partitions " + interval_text(range.keys.lower, range.keys.upper);
    case Access::kPartition:
      return "partition " + key_text(rest);
    case Access::kPoint:
    case Access::kRows:
      break;
  }
  const auto partition = kv::take_utf16(rest);
  const auto pk_size = range.keys.lower.size() - rest.size();
  const auto head = "'" + partition.value_or("?") + "' ";
  if (range.access == Access::kPoint) return "point " + head + key_text(rest);
  // A range to the partition's end stops where the partition does.
  const bool to_end = range.keys.upper.size() == pk_size;
  return "rows " + head + interval_text(std::string(rest), to_end ? std::string() : range.keys.upper.substr(pk_size));
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

std::string QueryPlan::describe() const {
  std::string out;
  for (const auto& range : ranges) {
    if (!out.empty()) out += "; ";
    out += describe_range(range);
  }
  if (out.empty()) return "nothing";
  return filter_rows ? out + "; filter" : out;
}

}  // namespace tidemark::table_store
