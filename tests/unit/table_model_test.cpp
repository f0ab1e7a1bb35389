// The $filter grammar and its evaluation; expectations follow table.md section 5.
#include <gtest/gtest.h>

#include <limits>

#include "table_store/model/filter.h"

namespace tidemark::table_store {
namespace {

Entity row() {
  Entity out;
  out.partition_key = "p";
  out.row_key = "r";
  out.version = 10'000'000;  // 1970-01-01T00:00:01Z
  Guid guid;
  guid.bytes[0] = 0x0d;
  out.properties = {{"n", Value(std::int32_t{5})},
                    {"l", Value(std::int64_t{7})},
                    {"d", Value(5.5)},
                    {"s", Value(std::string("it's"))},
                    {"t", Value(true)},
                    {"f", Value(false)},
                    {"x", Value(Binary{"\x01\x02"})},
                    {"g", Value(guid)},
                    {"nan", Value(std::numeric_limits<double>::quiet_NaN())},
                    {"when", Value(Time(Ticks(0)))},
                    {"prefix", Value(std::int32_t{1})}};
  return out;
}

struct Case {
  const char* filter;
  bool matches;
};

TEST(Filter, Table) {
  const Case cases[] = {
      {"", true},
      {"   ", true},
      {"true", true},
      {"FALSE", false},
      {"n eq 5", true},
      {"5 eq n", true},
      {"n EQ 5", true},
      {"n ne 5", false},
      {"N eq 5", false},
      {"n eq '5'", false},
      {"n ne '5'", false},
      {"n ge 5.0", true},
      {"n eq 5L", true},
      {"6 gt n", true},
      {"6 lt n", false},
      {"l eq 7", true},
      {"l gt 6.5", true},
      {"d gt 5", true},
      {"d le 5L", false},
      {"s eq 'it''s'", true},
      {"s gt 'it'", true},
      {"t", true},
      {"f", false},
      {"not f", true},
      {"n", false},
      {"missing", false},
      {"missing ne 1", false},
      {"not (missing eq 1)", true},
      {"not missing eq 1", true},
      {"not n eq 5", false},
      {"not not n eq 5", true},
      {"t eq true", true},
      {"f lt true", true},
      {"x eq X'0102'", true},
      {"x eq binary'0102'", true},
      {"g eq guid'0d000000-0000-0000-0000-000000000000'", true},
      {"nan eq NaN", false},
      {"nan ne 2.5", true},
      {"nan gt 1", false},
      {"n lt INF", true},
      {"n gt -INF", true},
      {"when eq datetime'1970-01-01T00:00:00Z'", true},
      {"when eq datetime'1970-01-01T00:00:00.000000049Z'", true},
      {"when eq datetime'1970-01-01T00:00:00.000000051Z'", false},
      {"Timestamp eq datetime'1970-01-01T00:00:01Z'", true},
      {"PartitionKey eq 'p' and RowKey ge 'q'", true},
      {"PartitionKey eq 'p'and(n eq 5)and(l eq 7)", true},
      {"n eq 1 or n eq 5 and l eq 7", true},
      {"(n eq 5 or l eq 7) and false", false},
      {"n eq 5 or l eq 7 and false", true},
      {"prefix eq 1", true},
      {"n gt -2147483648", true},
      {"n lt 1e1", true},
      {"l lt 9223372036854775807L", true},
      {"n eq (5)", true},
      {"( n ) eq 5", true},
      {"(5) lt (n)", false},
      {"not (n) eq 5", false},
      {"((n) eq 5)", true},
      {"(t)", true},
      {"(t) and (n) ge (5)", true},
      {"(PartitionKey) eq 'p' and RowKey ge ('q')", true},
      {"s eq'it''s'and t", true},
      {"s eq'it''s'or(f)", true},
      {"d gt 1e-400", true},
      {"d lt -1e-400", false},
  };
  for (const auto& [text, expected] : cases) {
    auto filter = Filter::parse(text);
    ASSERT_TRUE(filter.has_value()) << text << ": " << filter.error().message;
    EXPECT_EQ(filter->matches(row()), expected) << text;
  }
}

TEST(Filter, Refused) {
  for (const char* text : {"n eq 5 and",
                           "and",
                           "n eq",
                           "eq 5",
                           "(n eq 5",
                           "n eq 5)",
                           "n eq 2147483648",
                           "5 eq 5",
                           "n eq l",
                           "'x",
                           "n eq 5x",
                           "PartitionKey eq 5",
                           "RowKey gt 1L",
                           "Timestamp eq '2020'",
                           "n eq guid'1'",
                           "n eq X'0'",
                           "n eq datetime'soon'",
                           "5",
                           "'text'",
                           "n == 5",
                           "not",
                           "()",
                           "n eq 5 n eq 6",
                           "n eq (5",
                           "n eq ()",
                           "n eq (5 or t)",
                           "(n eq) 5",
                           "(n) eq",
                           "(n",
                           "(RowKey)",
                           "('text')",
                           "n eq 1e400",
                           "n eq datetimeoffset'2020-01-01'",
                           "true'x'",
                           "\xFF"}) {
    EXPECT_TRUE(Filter::parse(text).failed_with(ErrorCode::kInvalidInput)) << text;
  }
  for (const char* text :
       {"startswith(s,'i')", "n add 1 eq 6", "n eq (5 add 1)", "(n add 1) eq 6", "6 eq n sub 1", "length(s) eq 4"}) {
    EXPECT_TRUE(Filter::parse(text).failed_with(ErrorCode::kNotImplemented)) << text;
  }
  EXPECT_EQ(Filter::parse("aaa bbb ccc").error().message, "Syntax error at position 7 in 'aaa bbb ccc'.");
}

TEST(Filter, Bounds) {
  const auto nested = [](int depth) {
    return std::string(static_cast<std::size_t>(depth), '(') + "n eq 5" +
           std::string(static_cast<std::size_t>(depth), ')');
  };
  EXPECT_TRUE(Filter::parse(nested(512)).has_value());
  EXPECT_FALSE(Filter::parse(nested(513)).has_value());
  EXPECT_FALSE(Filter::parse(nested(10000)).has_value());
  std::string longest = "n eq 5";
  longest.resize(64 * 1024, ' ');
  EXPECT_TRUE(Filter::parse(longest).has_value());
  EXPECT_FALSE(Filter::parse(longest + " ").has_value());
  std::string chain = "n eq 1";
  while (chain.size() < 65000) chain += " or n eq 1";
  EXPECT_TRUE(Filter::parse(chain).has_value());
}

}  // namespace
}  // namespace tidemark::table_store
