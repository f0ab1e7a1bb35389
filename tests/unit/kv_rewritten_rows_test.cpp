#include "common/kv/rewritten_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/support/environment.h"

namespace tidemark::kv {
namespace {

/// A table whose rows have a key, a number and a value, as a group's statement changes it.
class Table {
 public:
  void apply(const RewrittenRows::Plan& plan) {
    for (const auto& [key, group] : plan.removed) rows_.erase({std::string(key), group});
    for (const auto& [row, value] : plan.put) rows_.insert_or_assign({std::string(row.key), row.group}, value);
  }
  void calm(const RewrittenRows::Groups& rows) {
    for (const auto& [key, group] : rows) {
      auto row = rows_.extract({key, group});
      if (row.empty()) continue;
      row.key().second = 0;
      ASSERT_TRUE(rows_.insert(std::move(row)).inserted) << key;
    }
  }
  /// Fails if a key has two rows.
  [[nodiscard]] std::map<std::string, std::string> values() const {
    std::map<std::string, std::string> values;
    for (const auto& [row, value] : rows_) EXPECT_TRUE(values.emplace(row.first, value).second) << row.first;
    return values;
  }
  [[nodiscard]] RewrittenRows::Groups numbered() const {
    RewrittenRows::Groups found;
    for (const auto& [row, value] : rows_) {
      if (row.second != 0) found.insert(row);
    }
    return found;
  }

 private:
  std::map<std::pair<std::string, std::int64_t>, std::string> rows_;
};

class RewrittenRowsTest : public ::testing::Test {
 protected:
  void commit(const std::map<std::string, std::optional<std::string>>& writes) {
    WriteOverlay overlay;
    for (const auto& [key, value] : writes) {
      value ? overlay.put(key, *value) : overlay.erase(key);
    }
    const auto calm = rows_.calm(++group_);
    table_.calm(calm);
    rows_.calmed(calm);
    const auto plan = rows_.plan(overlay, group_);
    table_.apply(plan);
    rows_.committed(plan);
  }
  void rewrite(const std::string& key, int times) {
    for (int i = 0; i < times; ++i) commit({{key, std::to_string(i)}});
  }

  RewrittenRows rows_;
  Table table_;
  std::int64_t group_ = 0;
};

TEST_F(RewrittenRowsTest, ARowThatIsRewrittenHasTheNumberOfTheLastGroup) {
  commit({{"a", "x"}, {"b", "x"}});
  rewrite("a", 50);
  EXPECT_EQ(table_.numbered(), (RewrittenRows::Groups{{"a", group_}}));
  EXPECT_EQ(table_.values(), (std::map<std::string, std::string>{{"a", "49"}, {"b", "x"}}));
  commit({{"a", std::nullopt}});
  EXPECT_EQ(table_.values().size(), 1U);
  EXPECT_TRUE(rows_.groups().empty());
}

TEST_F(RewrittenRowsTest, RowsThatAreWrittenOnceStayAsTheyAre) {
  for (int i = 0; i < 200'000; ++i) commit({{"message " + std::to_string(i), "x"}});
  EXPECT_EQ(table_.numbered().size(), 0U);
}

TEST_F(RewrittenRowsTest, AnotherOwnerGoesOnWithWhatIsStored) {
  rewrite("a", 50);
  rows_ = RewrittenRows(table_.numbered());
  commit({{"a", "again"}});
  EXPECT_EQ(table_.values(), (std::map<std::string, std::string>{{"a", "again"}}));
}

TEST_F(RewrittenRowsTest, WhoeverIsNotRewrittenAnyMoreMakesRoom) {
  for (std::size_t i = 0; i < RewrittenRows::kMost; ++i) rewrite("old " + std::to_string(i), 20);
  EXPECT_EQ(rows_.groups().size(), RewrittenRows::kMost);
  rewrite("new", 50);
  EXPECT_FALSE(rows_.groups().contains("new")) << "there was no room";
  for (int i = 0; i < 10'000; ++i) commit({{"once " + std::to_string(i), "x"}});
  rewrite("new", 50);
  EXPECT_TRUE(rows_.groups().contains("new"));
  EXPECT_EQ(table_.numbered(), rows_.groups());
  EXPECT_EQ(table_.values().at("old 0"), "19");
}

TEST_F(RewrittenRowsTest, EachKeyHasOneRowWhateverIsWritten) {
  const auto seed = test_seed();
  SCOPED_TRACE("TIDEMARK_SEED=" + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto any = [&random](std::size_t count) { return random() % count; };
  std::map<std::string, std::string> truth;
  std::size_t most_numbered = 0;
  for (std::uint64_t step = 0; step < test_size(10'000); ++step) {
    std::map<std::string, std::optional<std::string>> writes;
    for (auto left = any(5) + 1; left > 0; --left) {
      // A few keys that are written often, and many others.
      const auto key = "k" + std::to_string(any(4) == 0 ? any(1000) : any(5));
      writes[key] = any(8) == 0 ? std::nullopt : std::optional(std::to_string(step));
    }
    commit(writes);
    for (const auto& [key, value] : writes) {
      truth.erase(key);
      if (value) truth.emplace(key, *value);
    }
    if (any(500) == 0) rows_ = RewrittenRows(table_.numbered());
    if (any(100) == 0) ASSERT_EQ(table_.values(), truth) << "step " << step;
    ASSERT_EQ(rows_.groups().size(), table_.numbered().size());
    most_numbered = std::max(most_numbered, rows_.groups().size());
  }
  EXPECT_GT(most_numbered, 0U);
}

}  // namespace
}  // namespace tidemark::kv
