// Summaries of Doubles, over several pieces.
#include <cmath>
#include <limits>

#include "index_rows_fixture.h"

namespace tidemark::workers {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class WorkersIndexSums : public IndexRowsFixture {
 protected:
  static constexpr int kEntities = 140;  // with long keys, so that they fill several pieces

  static Mutation number(int row, double value) {
    auto mutation = entity(std::string(450, 'x') + std::to_string(row), "red", -1);
    mutation.properties.push_back({"Size", value});
    return mutation;
  }
  void set(int row, double value) { write(number(row, value), "p"); }
  double told(const std::string& name) {
    for (const auto& row : rows_in("Totals")) {
      if (row.row_key == indexes::kSummaryRow) return jobs::property_or<double>(row, name, -1);
    }
    return -1;
  }
  double sum() {
    wait_until_ready(index_);
    return told("Sum");
  }

  Index index_;
};

TEST_F(WorkersIndexSums, AreRightBehindInfinity) {
  index_ = declare(
      "totals",
      R"({"kind":"summary","source":"Source","by":["Colour"],"of":"Size","destination":"Totals","scrubPerSecond":100000})");
  for (int i = 0; i < kEntities; i += 70) {
    std::vector<Mutation> some;
    for (int j = i; j < i + 70; ++j) some.push_back(number(j, j == 0 ? 1e308 : j == 1 ? 9e307 : 1.0));
    ASSERT_TRUE(run_beside(tables_.mutate("Source", "p", std::move(some), std::nullopt)).has_value());
  }
  start_keeper("w1");
  EXPECT_EQ(sum(), kInfinity);
  ASSERT_GE(rows_in("Totals").size(), 4U) << "it has one piece";
  set(2, 5.0);
  EXPECT_EQ(sum(), kInfinity);
  set(0, 1.0);
  EXPECT_DOUBLE_EQ(sum(), 9e307);
  set(3, 2.0);
  EXPECT_DOUBLE_EQ(sum(), 9e307);
  set(1, 1.0);
  EXPECT_EQ(sum(), 145.0);
  set(4, kInfinity);
  set(5, std::nan(""));
  EXPECT_TRUE(std::isnan(sum()));
  EXPECT_EQ(told("Max"), kInfinity);
  EXPECT_EQ(told("Min"), 1.0);
  set(5, 1.0);
  EXPECT_EQ(sum(), kInfinity);
  const auto scrubs = progress(index_).scrubs;
  ask("totals", {.scrub = true});
  drive_until([&] { return progress(index_).scrubs > scrubs; });
  EXPECT_EQ(progress(index_).wrong_ever, 0U);
  set(4, 1.0);
  EXPECT_EQ(sum(), 145.0);
  EXPECT_EQ(told("Max"), 5.0);
}

}  // namespace
}  // namespace tidemark::workers
