// The lists that contain the entities that a filter can match.
#include <gtest/gtest.h>

#include "table_random_filter.h"
#include "table_store/model/group_text.h"
#include "table_store/storage/list_plan.h"
#include "tests/support/seeded_random.h"

namespace tidemark::table_store {
namespace {

EntityLists lists_by(std::vector<std::string> by, bool in_partition = false) {
  EntityLists lists;
  lists.index = "by";
  lists.table = "Lists";
  lists.by = std::move(by);
  lists.in_partition = in_partition;
  lists.row_prefix = in_partition ? "by_" : "keys_";
  return lists;
}

/// Returns "partition: rows from, before; ..." for a filter; "-" if the lists do not help.
std::string plan(std::string_view text, const EntityLists& lists) {
  const auto filter = Filter::parse(text);
  if (!filter) return filter.error().message;
  const auto groups = groups_for(*filter, lists);
  if (!groups) return "-";
  std::string out;
  for (const auto& [group, rows] : *groups) {
    out += (out.empty() ? "" : "; ") + rows.partition_key + ": " + rows.from;
    EXPECT_EQ(rows.before, rows.from + "g");
  }
  return out;
}

TEST(ListPlan, NamesGroups) {
  const auto by_a = lists_by({"A"});
  EXPECT_EQ(plan("A eq 'x'", by_a), "x: keys_");
  EXPECT_EQ(plan("'x' eq A and B gt 5", by_a), "x: keys_");
  EXPECT_EQ(plan("A eq 'x' or (A eq 'y' and B eq 1)", by_a), "x: keys_; y: keys_");
  EXPECT_EQ(plan("A eq 'a,b/c'", by_a), "a%2Cb%2Fc: keys_");
  EXPECT_EQ(plan("A eq 5", by_a),
            "d"
            "c014000000000000: keys_; p0000000000000000005: keys_");
  EXPECT_EQ(plan("A eq 5.0", by_a), plan("A eq 5", by_a));
  EXPECT_EQ(plan("A eq -0.0", by_a), plan("A eq 0L", by_a));
  EXPECT_EQ(plan("A eq 1.5", by_a), "dbff8000000000000: keys_");
  EXPECT_EQ(plan("A eq true and A", by_a), "true: keys_");
  EXPECT_EQ(plan("A", by_a), "true: keys_");
  EXPECT_EQ(plan("false and A eq 1", by_a), "") << "nothing can match";
  for (const auto* none : {"", "true", "B eq 1", "A ne 'x'", "A gt 'x'", "not (A eq 'x')", "A eq 'x' or B eq 1",
                           "A eq 9007199254740993L", "A eq 1e300"}) {
    EXPECT_EQ(plan(none, by_a), "-") << none;
  }
}

TEST(ListPlan, NeedsEveryProperty) {
  const auto both = lists_by({"A", "RowKey"});
  EXPECT_EQ(plan("A eq 'x' and RowKey eq 'r'", both), "x,r: keys_");
  EXPECT_EQ(plan("(A eq 'x' or A eq 'y') and (RowKey eq 'r' or RowKey eq 's')", both),
            "x,r: keys_; x,s: keys_; y,r: keys_; y,s: keys_");
  EXPECT_EQ(plan("A eq 'x'", both), "-");
  EXPECT_EQ(plan("(A eq 'x' and RowKey eq 'r') or A eq 'y'", both), "-");
  const auto inside = lists_by({"A"}, true);
  EXPECT_EQ(plan("A eq 'x' and PartitionKey eq 'p'", inside), "p: by_x_");
  EXPECT_EQ(plan("A eq 'x' and (PartitionKey eq 'p' or PartitionKey eq 'q')", inside), "p: by_x_; q: by_x_");
  EXPECT_EQ(plan("A eq 'x'", inside), "-");
  EXPECT_EQ(plan("A eq 'x' and PartitionKey eq 'p'", lists_by({"PartitionKey", "A"}, true)), "p: by_p,x_");
}

TEST(ListPlan, NeedsWhatTheListsAreFilteredBy) {
  auto some = lists_by({"A"});
  some.filter = "B eq 1 and C gt 'x'";
  EXPECT_EQ(plan("A eq 'y' and C gt 'x' and B eq 1", some), "y: keys_");
  EXPECT_EQ(plan("(A eq 'y' and C gt 'x') and B eq 1 and D eq 2", some), "y: keys_");
  EXPECT_EQ(plan("A eq 'y' and B eq 1", some), "-");
  EXPECT_EQ(plan("A eq 'y' and B eq 1 or C gt 'x'", some), "-");
  EXPECT_EQ(plan("A eq 'y' and B eq 1L and C gt 'x'", some), "-") << "the same must be said";
}

TEST(ListPlan, StaysSmall) {
  std::string some, many;
  for (int i = 0; i < 60; ++i) some += (i == 0 ? "A eq " : " or A eq ") + std::to_string(i);
  EXPECT_NE(plan(some, lists_by({"A"})), "-");
  for (int i = 0; i < 100; ++i) many += (i == 0 ? "A eq " : " or A eq ") + std::to_string(i);
  EXPECT_EQ(plan(many, lists_by({"A"})), "-");
  EXPECT_EQ(plan("(" + some + ") and (B eq 1 or B eq 2)", lists_by({"A"})), plan(some, lists_by({"A"})))
      << "what would be too many cases is left to the filter";
}

TEST(ListPlan, TellsWhichRowsAreInNoList) {
  const OwnRows rows{.properties = {"Group", "Count"}};
  EXPECT_FALSE(may_be_meant(rows, lists_by({"A"})));
  EXPECT_FALSE(may_be_meant(rows, lists_by({"A", "Count"})));
  EXPECT_TRUE(may_be_meant(rows, lists_by({"Count"})));
  EXPECT_TRUE(may_be_meant(rows, lists_by({"RowKey"})));
  EXPECT_TRUE(may_be_meant(OwnRows{.anything = true, .properties = {}}, lists_by({"A"})));
}

/// For any filter, a matching entity is in one of its groups.
TEST(ListPlan, HasEveryEntityThatMatches) {
  SeededRandom random(27);
  const std::vector<std::string> names{"n", "s", "flag", "PartitionKey", "RowKey"};
  int helped = 0;
  int matched = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::string> by{names[random.below(names.size())]};
    if (random.below(3) == 0) by.push_back(names[(random.below(4) + 1) % names.size()]);
    if (by.size() == 2 && by[0] == by[1]) continue;
    const auto lists = lists_by(by, random.below(3) == 0);
    auto text = reference::random_filter(random, 3).text;
    if (random.below(2) == 0) text = "(" + text + ") and " + reference::random_filter(random, 0).text;
    const auto filter = Filter::parse(text);
    ASSERT_TRUE(filter) << text;
    const auto groups = groups_for(*filter, lists);
    if (!groups) continue;
    ++helped;
    for (int i = 0; i < 30; ++i) {
      Entity entity{reference::random_partition(random), reference::random_row(random), 1, {}, {}};
      for (int count = 0; count < 4; ++count) {
        auto property = reference::random_property(random);
        if (entity.find(property.name) == nullptr) entity.properties.push_back(std::move(property));
      }
      if (!filter->matches(entity)) continue;
      ++matched;
      const auto group = group_of(by, entity.partition_key, entity.row_key, entity.properties);
      ASSERT_TRUE(group) << text;
      const bool found = std::ranges::any_of(*groups, [&](const auto& one) {
        return one.group == *group && (!lists.in_partition || one.rows.partition_key == entity.partition_key);
      });
      EXPECT_TRUE(found) << text << " by " << by.front() << " matches one of group " << *group;
    }
  }
  EXPECT_GT(helped, 500);
  EXPECT_GT(matched, 500);
}

}  // namespace
}  // namespace tidemark::table_store
