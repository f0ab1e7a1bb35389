// A node of the filter becomes a set of boxes: an interval of PartitionKeys times one of RowKeys. `or` collects boxes,
// `and` intersects them, `not` is pushed down to the comparisons (exact there: keys are never missing). What says
// nothing about keys is one box with everything in it. Sets are bounded: past the bound a superset is kept.
#include "table_store/model/query_plan.h"

#include <algorithm>

#include "common/kv/key_codec.h"
#include "table_store/model/filter_node.h"

namespace tidemark::table_store {
namespace {

constexpr std::size_t kMaxBoxes = 1024;

// [lower, upper) of encoded text; an empty upper is unbounded.
using Interval = kv::KeyRange;

bool is_empty(const Interval& in) { return !in.upper.empty() && in.lower >= in.upper; }
bool is_everything(const Interval& in) { return in.lower.empty() && in.upper.empty(); }

bool is_point(const Interval& in) {
  return in.lower.ends_with(std::string_view("\0\1", 2)) && in.upper == kv::prefix_end(in.lower);
}

Interval intersect(const Interval& a, const Interval& b) {
  Interval out;
  out.lower = std::max(a.lower, b.lower);
  out.upper = a.upper.empty() ? b.upper : b.upper.empty() ? a.upper : std::min(a.upper, b.upper);
  return out;
}

struct Box {
  Interval pk, rk;
};
using Boxes = std::vector<Box>;

Boxes everything() { return Boxes(1); }

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

std::vector<Interval> intervals_of(CompareOp op, const std::string& text) {
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

Boxes boxes_of_comparison(const FilterNode& node, bool negated) {
  if (node.field != Field::kPartitionKey && node.field != Field::kRowKey) return everything();
  Boxes out;
  for (auto& interval : intervals_of(negated ? negation(node.op) : node.op, std::get<std::string>(node.literal))) {
    Box box;
    (node.field == Field::kPartitionKey ? box.pk : box.rk) = std::move(interval);
    out.push_back(std::move(box));
  }
  return out;
}

bool binds_partitions(const Boxes& boxes) {
  return std::none_of(boxes.begin(), boxes.end(), [](const Box& box) { return is_everything(box.pk); });
}

Boxes intersect_all(Boxes a, Boxes b) {
  if (a.size() * b.size() > kMaxBoxes) return binds_partitions(a) ? a : b;
  Boxes out;
  for (const auto& x : a) {
    for (const auto& y : b) {
      Box box{intersect(x.pk, y.pk), intersect(x.rk, y.rk)};
      if (!is_empty(box.pk) && !is_empty(box.rk)) out.push_back(std::move(box));
    }
  }
  return out;
}

Boxes boxes_of(const FilterNode& node, bool negated) {
  using Kind = FilterNode::Kind;
  switch (node.kind) {
    case Kind::kNot:
      return boxes_of(*node.children.front(), !negated);
    case Kind::kComparison:
      return boxes_of_comparison(node, negated);
    case Kind::kConstant:
      return node.constant != negated ? everything() : Boxes{};
    case Kind::kProperty:
      return everything();
    case Kind::kAnd:
    case Kind::kOr:
      break;
  }
  const bool is_and = (node.kind == Kind::kAnd) != negated;  // De Morgan
  Boxes out = is_and ? everything() : Boxes{};
  for (const auto& child : node.children) {
    auto more = boxes_of(*child, negated);
    if (is_and) {
      out = intersect_all(std::move(out), std::move(more));
    } else {
      if (out.size() + more.size() > kMaxBoxes) return everything();
      std::move(more.begin(), more.end(), std::back_inserter(out));
    }
  }
  return out;
}

kv::KeyRange range_of(const Box& box) {
  if (!is_point(box.pk)) return box.pk;
  return {box.pk.lower + box.rk.lower, box.rk.upper.empty() ? box.pk.upper : box.pk.lower + box.rk.upper};
}

}  // namespace

std::string encode_entity_key(std::string_view partition_key, std::string_view row_key) {
  std::string out;
  out.reserve(partition_key.size() + row_key.size() + 4);
  kv::append_utf16(out, partition_key);
  kv::append_utf16(out, row_key);
  return out;
}

std::vector<kv::KeyRange> plan_ranges(const Filter& filter) {
  if (filter.matches_all()) return {kv::KeyRange{}};
  std::vector<kv::KeyRange> ranges;
  for (const auto& box : boxes_of(*filter.root(), false)) ranges.push_back(range_of(box));
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.lower < b.lower; });
  std::vector<kv::KeyRange> out;
  for (auto& range : ranges) {
    if (out.empty() || (!out.back().upper.empty() && range.lower > out.back().upper)) {
      out.push_back(std::move(range));
    } else if (!out.back().upper.empty() && (range.upper.empty() || range.upper > out.back().upper)) {
      out.back().upper = std::move(range.upper);
    }
  }
  return out;
}

}  // namespace tidemark::table_store
