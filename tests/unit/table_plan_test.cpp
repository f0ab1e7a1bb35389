// The planner's results for filters, described in a text; a plan stays small for any filter.
#include <gtest/gtest.h>

#include "common/kv/key_codec.h"
#include "table_store/storage/query_plan.h"

namespace tidemark::table_store {
namespace {

std::string key_text(std::string_view encoded_part) {
  auto rest = encoded_part;
  auto text = kv::take_utf16(rest);
  return text ? "'" + *text + "'" : "?";
}

/// Returns an encoded bound in the notation of intervals. The key after all keys that begin with a text ends with 00
/// 02, while the text's own end is 00 01.
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

/// Returns "point 'p' 'a'; rows 'p' ['b', 'c'); filter".
std::string describe(const QueryPlan& plan) {
  std::string out;
  for (const auto& range : plan.ranges) {
    if (!out.empty()) out += "; ";
    out += describe_range(range);
  }
  if (out.empty()) return "nothing";
  return plan.filter_rows ? out + "; filter" : out;
}

std::string plan(std::string_view text) {
  auto filter = Filter::parse(text);
  if (!filter) return filter.error().message;
  return describe(plan_query(*filter));
}

TEST(QueryPlan, Describes) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "table"},
      {"true", "table"},
      {"false", "nothing"},
      {"n eq 1", "table; filter"},
      {"PartitionKey eq 'p' and RowKey eq 'r'", "point 'p' 'r'"},
      {"PartitionKey eq '' and RowKey eq ''", "point '' ''"},
      {"RowKey eq 'r' and n eq 1 and PartitionKey eq 'p'", "point 'p' 'r'; filter"},
      {"PartitionKey eq 'p'", "partition 'p'"},
      {"PartitionKey eq 'p' and n gt 1", "partition 'p'; filter"},
      {"PartitionKey eq 'p' and RowKey ge 'a' and RowKey lt 'b'", "rows 'p' ['a', 'b')"},
      {"PartitionKey eq 'p' and RowKey gt 'a' and RowKey le 'b'", "rows 'p' ('a', 'b']"},
      {"PartitionKey eq 'p' and RowKey gt 'a'", "rows 'p' ('a', )"},
      {"PartitionKey eq 'p' and RowKey lt 'a'", "rows 'p' (, 'a')"},
      {"PartitionKey eq 'p' and RowKey ne 'a'", "rows 'p' (, 'a'); rows 'p' ('a', )"},
      {"PartitionKey ge 'a' and PartitionKey lt 'b'", "partitions ['a', 'b')"},
      {"PartitionKey ge 'a' and PartitionKey le 'a' and RowKey gt 'x'", "rows 'a' ('x', )"},
      {"PartitionKey gt 'a'", "partitions ('a', )"},
      {"PartitionKey gt 'a' and RowKey eq 'r'", "partitions ('a', ); filter"},
      {"RowKey eq 'r'", "table; filter"},
      {"PartitionKey eq 'a' and PartitionKey eq 'b'", "nothing"},
      {"PartitionKey eq 'p' and (RowKey eq 'c' or RowKey eq 'a' or RowKey eq 'c')", "point 'p' 'a'; point 'p' 'c'"},
      {"PartitionKey eq 'p' and RowKey eq 'c' or RowKey eq 'a' and PartitionKey eq 'b'",
       "point 'b' 'a'; point 'p' 'c'"},
      {"(PartitionKey eq 'b' or PartitionKey eq 'a') and (RowKey eq '2' or RowKey eq '1')",
       "point 'a' '1'; point 'a' '2'; point 'b' '1'; point 'b' '2'"},
      {"PartitionKey eq 'p' and (RowKey lt 'c' or RowKey gt 'b')", "partition 'p'"},
      {"PartitionKey eq 'p' and (RowKey eq 'a' and n eq 1 or RowKey eq 'b')", "point 'p' 'a'; point 'p' 'b'; filter"},
      {"PartitionKey eq 'p' or n eq 1", "table; filter"},
      {"not (PartitionKey ne 'p' or RowKey ne 'r')", "point 'p' 'r'"},
      {"not (PartitionKey eq 'p')", "partitions (, 'p'); partitions ('p', )"},
      {"not (n eq 1 or PartitionKey ne 'p')", "partition 'p'; filter"},
      {"PartitionKey lt 'b' or PartitionKey ge 'a'", "table"},
      {"PartitionKey le 'a' or PartitionKey gt 'a' and RowKey eq 'r'", "table; filter"},
      {"PartitionKey eq 'p' and RowKey eq 'it''s'", "point 'p' 'it's'"},
  };
  for (const auto& [filter, expected] : cases) EXPECT_EQ(plan(filter), expected) << filter;
}

TEST(QueryPlan, PointsAreSingleKeys) {
  const auto point = plan_query(*Filter::parse("PartitionKey eq 'a' and RowKey eq 'b' and n eq 1")).ranges;
  ASSERT_EQ(point.size(), 1U);
  EXPECT_EQ(point[0].keys.lower, encode_entity_key("a", "b"));
  EXPECT_EQ(point[0].keys.upper, kv::prefix_end(point[0].keys.lower));
}

std::string ors(std::string_view head, std::string_view property, int count) {
  std::string out(head);
  for (int i = 0; i < count; ++i) {
    out += (i == 0 ? "" : " or ") + std::string(property) + " eq '" + std::to_string(i * 7919 % count) + "'";
  }
  return out;
}

TEST(QueryPlan, ManyOrsAreManyPoints) {
  const auto filter = Filter::parse(ors("PartitionKey eq 'p' and (", "RowKey", 1300) + ")");
  ASSERT_TRUE(filter.has_value());
  const auto plan = plan_query(*filter);
  EXPECT_EQ(plan.ranges.size(), 1300U);
  EXPECT_FALSE(plan.filter_rows);
  for (std::size_t i = 1; i < plan.ranges.size(); ++i) {
    ASSERT_EQ(plan.ranges[i].access, Access::kPoint);
    ASSERT_LT(plan.ranges[i - 1].keys.lower, plan.ranges[i].keys.lower);
  }
}

TEST(QueryPlan, ProductsOfOrsStayBounded) {
  const auto text = "(" + ors("", "PartitionKey", 600) + ") and (" + ors("", "RowKey", 600) + ")";
  const auto filter = Filter::parse(text);
  ASSERT_TRUE(filter.has_value());
  const auto plan = plan_query(*filter);
  EXPECT_LE(plan.ranges.size(), kMaxPlannedRanges);
  EXPECT_GE(plan.ranges.size(), 600U);  // still one range in each partition at least
  EXPECT_TRUE(plan.filter_rows);
  const auto narrow = "(" + ors("", "PartitionKey", 60) + ") and (" + ors("", "RowKey", 60) + ")";
  EXPECT_EQ(plan_query(*Filter::parse(narrow)).ranges.size(), 3600U);
}

TEST(QueryPlan, LibrariesNestWhatTheyCombine) {
  std::string text = "RowKey eq '0'";
  for (int i = 1; i < 300; ++i) text = "(" + text + ") or (RowKey eq '" + std::to_string(i) + "')";
  const auto filter = Filter::parse("(PartitionKey eq 'p') and (" + text + ")");
  ASSERT_TRUE(filter.has_value()) << filter.error().message;
  EXPECT_EQ(plan_query(*filter).ranges.size(), 300U);
}

}  // namespace
}  // namespace tidemark::table_store
