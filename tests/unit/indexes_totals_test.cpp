// A summary's answers about a group while the numbers of its pieces come and go.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "indexes/rows/group_totals.h"

namespace tidemark::indexes {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

GroupTotals totals(const std::vector<Number>& numbers) {
  std::vector<ListEntry> entries;
  for (const auto& number : numbers) entries.push_back({"p", std::to_string(entries.size()), number});
  return totals_of(entries);
}

/// Returns the totals as the summary's row keeps them.
GroupTotals stored(const GroupTotals& group) {
  table_store::Entity row;
  row.properties = summary_properties("g", group);
  const auto read = read_summary(row);
  EXPECT_TRUE(read.has_value());
  return read.value_or(GroupTotals{});
}

/// Returns the totals of a group with these pieces, after a change of the first, as the owner of an index adds them up.
GroupTotals changed(const std::vector<std::vector<Number>>& pieces, const std::vector<Number>& first) {
  GroupTotals group, others;
  for (const auto& piece : pieces) group.add(totals(piece));
  for (std::size_t i = 1; i < pieces.size(); ++i) others.add(totals(pieces[i]));
  auto out = stored(group);
  const auto before = totals(pieces.front()), after = totals(first);
  if (loses_track(out, before, after)) {
    out = others;
  } else {
    out.subtract(before);
  }
  out.add(after);
  return stored(out);
}

TEST(GroupTotals, ASumThatIsTooLargeComesBack) {
  const std::vector<std::vector<Number>> pieces{{1e308, 1.0}, {9e307, 2.0}, {3.0}};
  EXPECT_EQ(changed(pieces, {1e308, 1.5}).sum(), Number(kInfinity));
  EXPECT_EQ(changed(pieces, {1.0, 1.0}).sum(), Number(9e307));
  EXPECT_EQ(changed({{1e308, 1e308}, {-1e308, -1e308, 7.0}}, {}).sum(), Number(-kInfinity));
}

TEST(GroupTotals, WhatALargeNumberHidIsThereOnceItGoes) {
  EXPECT_EQ(changed({{9e307}, {1.0, 2.0}}, {}).sum(), Number(3.0));
  EXPECT_EQ(changed({{1e22, 1.0}, {1.0, 2.0}}, {1.0}).sum(), Number(4.0));
}

TEST(GroupTotals, InfinityAndNaNAreNumbersWhileTheyAreThere) {
  const std::vector<std::vector<Number>> pieces{{kInfinity, 1.0}, {2.0}};
  EXPECT_EQ(changed(pieces, {kInfinity, 2.0}).sum(), Number(kInfinity));
  EXPECT_EQ(changed(pieces, {kInfinity, 2.0}).max, Number(kInfinity));
  EXPECT_EQ(changed(pieces, {1.0}).sum(), Number(3.0));
  EXPECT_EQ(changed(pieces, {1.0}).max, Number(2.0));
  EXPECT_TRUE(same(changed(pieces, {-kInfinity, kInfinity}).sum(), kNaN));
  const auto with_nan = changed(pieces, {kNaN, 1.0});
  EXPECT_TRUE(same(with_nan.sum(), kNaN));
  EXPECT_EQ(with_nan.min, Number(1.0));
  EXPECT_EQ(with_nan.max, Number(2.0));
  EXPECT_EQ(changed({{kNaN}, {2.0}}, {std::int64_t{1}}).sum(), Number(3.0));
  EXPECT_EQ(changed({{kNaN, std::int64_t{4}}, {std::int64_t{2}}}, {std::int64_t{4}}).sum(), Number(std::int64_t{6}));
  EXPECT_EQ(totals({kNaN}).min, Number());
}

TEST(GroupTotals, AnEarlierSummaryIsRead) {
  table_store::Entity row;
  row.properties = {{"Count", std::int64_t{2}}, {"Parts", std::string(R"([2,1,"3",2.5])")}};
  const auto read = read_summary(row);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->sum(), Number(5.5));
  row.properties.back().value = std::string(R"([2,1,"3",null])");
  EXPECT_FALSE(read_summary(row).has_value()) << "it was too large: added up anew";
}

TEST(ListPiece, KeepsNumbersThatJsonHasNotGot) {
  ListPiece piece;
  for (const auto number : {kInfinity, -kInfinity, kNaN, -0.0}) {
    piece.entries.push_back({"p", std::to_string(piece.entries.size()), number});
  }
  table_store::Entity row;
  row.row_key = group_across("g").row_key(piece.bound);
  row.properties = piece_rows(piece).front().properties;
  const auto read = read_piece(row);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->entries, piece.entries);
}

}  // namespace
}  // namespace tidemark::indexes
