// Plans for hot shards: the causes, the gain from spreading, and the moves that even the load out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/maintenance/split_plan.h"

namespace tidemark::api {
namespace {

using service::HotName;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

PlannedShard shard(std::size_t number, std::string process, std::optional<double> writes,
                   std::vector<HotName> hot = {}) {
  return {number, std::move(process), writes, std::move(hot)};
}
HotName queue(std::string name, double writes) { return {"acc", std::move(name), "", writes}; }

/// Returns "SHARD FROM>TO" of each move.
std::vector<std::string> moves_of(const SplitPlan& plan) {
  std::vector<std::string> moves;
  for (const auto& move : plan.moves) moves.push_back(std::to_string(move.shard) + " " + move.from + ">" + move.to);
  return moves;
}

TEST(SplitPlan, AnIdleStoreHasNothingToDo) {
  const auto plan = plan_split("queue", {shard(0, "a", 10.0), shard(1, "b", 0.0)}, {"a", "b"});
  EXPECT_THAT(plan.hot, IsEmpty());
  EXPECT_THAT(plan.moves, IsEmpty());
  EXPECT_TRUE(plan.complete);
  EXPECT_THAT(plan.advice, ElementsAre(HasSubstr("No shard is hot")));
}

TEST(SplitPlan, NoShardsAtAllIsNoPlan) {
  const auto plan = plan_split("queue", {}, {});
  EXPECT_THAT(plan.hot, IsEmpty());
  EXPECT_EQ(plan.hottest_shard.before, 0);
}

TEST(SplitPlan, NamesWhatMakesAShardHotAndWhatSpreadingGives) {
  const auto plan = plan_split("queue",
                               {shard(0, "a", 8000.0, {queue("orders", 6000), queue("mails", 500)}),
                                shard(1, "a", 1000.0), shard(2, "a", 1000.0), shard(3, "a", 1000.0)},
                               {});
  ASSERT_THAT(plan.hot, SizeIs(1));
  const auto& hot = plan.hot.front();
  EXPECT_EQ(hot.number, 0U);
  ASSERT_THAT(hot.parts, SizeIs(1)) << "what has less than a tenth is not worth a name";
  EXPECT_EQ(hot.parts[0].name.name, "orders");
  EXPECT_DOUBLE_EQ(hot.parts[0].of_shard, 0.75);
  EXPECT_FALSE(hot.parts[0].too_hot);
  EXPECT_EQ(hot.parts[0].spread_over, 2U);
  EXPECT_DOUBLE_EQ(hot.without_parts, 2000);
  EXPECT_DOUBLE_EQ(plan.hottest_shard.before, 8000);
  EXPECT_DOUBLE_EQ(plan.hottest_shard.after, 2000 + 6000 / 4.0);
  EXPECT_THAT(plan.advice, Contains(HasSubstr("One process serves all shards")));
}

TEST(SplitPlan, APartitionThatNoShardCanCarryIsNamedAsSuch) {
  const std::vector<HotName> hot{{"acc", "events", "2026-11-25", 12'000}};
  const auto plan = plan_split("table", {shard(0, "a", 12'500.0, hot), shard(1, "b", 100.0)}, {"a", "b"});
  ASSERT_THAT(plan.hot, SizeIs(1));
  EXPECT_TRUE(plan.hot[0].parts.at(0).too_hot);
  EXPECT_EQ(plan.hot[0].parts[0].spread_over, 3U);
  EXPECT_THAT(plan.advice, Contains(HasSubstr("Partition \"2026-11-25\" of table events is alone hotter (12000/s)")));
  EXPECT_THAT(plan.advice, Contains(HasSubstr("Spread it over 3 PartitionKeys")));
  EXPECT_THAT(plan.moves, IsEmpty()) << "wherever that shard goes, its process is as busy";
}

TEST(SplitPlan, WhatAShardCarriesCanBeSaid) {
  const auto shards = std::vector{shard(0, "a", 300.0, {queue("orders", 250)})};
  EXPECT_THAT(plan_split("queue", shards, {}).hot, IsEmpty());
  const auto plan = plan_split("queue", shards, {}, 200);
  ASSERT_THAT(plan.hot, SizeIs(1));
  EXPECT_TRUE(plan.hot[0].parts.at(0).too_hot);
}

TEST(SplitPlan, AShardWithFarMoreThanTheOthersIsHot) {
  std::vector<PlannedShard> shards{shard(0, "a", 2000.0)};
  for (std::size_t number = 1; number < 8; ++number) shards.push_back(shard(number, "a", 10.0));
  const auto plan = plan_split("queue", shards, {});
  ASSERT_THAT(plan.hot, SizeIs(1));
  EXPECT_THAT(plan.advice, Contains(HasSubstr("No name has much of shard 0")));
}

TEST(SplitPlan, MovesEvenOutProcesses) {
  const auto plan = plan_split(
      "queue",
      {shard(0, "a", 4000.0), shard(1, "a", 3000.0), shard(2, "a", 1000.0), shard(3, "b", 100.0), shard(4, "b", 100.0)},
      {"a", "b"});
  EXPECT_THAT(moves_of(plan), ElementsAre("0 a>b"));
  EXPECT_DOUBLE_EQ(plan.busiest_process.before, 8000);
  EXPECT_DOUBLE_EQ(plan.busiest_process.after, 4200);
}

TEST(SplitPlan, ShardsAreExchangedWhereNumbersMustStay) {
  const auto plan = plan_split(
      "queue", {shard(0, "a", 4000.0), shard(1, "a", 3000.0), shard(2, "b", 100.0), shard(3, "b", 200.0)}, {"a", "b"});
  EXPECT_THAT(moves_of(plan), ElementsAre("1 a>b", "2 b>a"))
      << "with one move alone, the processes would give each other shards again";
  EXPECT_DOUBLE_EQ(plan.busiest_process.after, 4100);
}

TEST(SplitPlan, AProcessThatHasNothingGetsSomething) {
  const auto plan = plan_split("queue", {shard(0, "a", 3000.0), shard(1, "a", 3000.0)}, {"a", "b"});
  EXPECT_THAT(moves_of(plan), SizeIs(1));
  EXPECT_DOUBLE_EQ(plan.busiest_process.after, 3000);
}

TEST(SplitPlan, WhatIsNotKnownIsSaid) {
  const auto plan = plan_split("queue", {shard(0, "a", std::nullopt), shard(1, "b", 9000.0)}, {"a", "b"});
  EXPECT_FALSE(plan.complete);
  EXPECT_THAT(plan.advice, Contains(HasSubstr("not known how busy they are")));
}

TEST(SplitPlan, OfTwoWhoTellOfAShardTheLaterOwnerCounts) {
  service::StoreShards told{.shared = true, .processes = {}, .places = {{"a", 3, "", {}, {}}}, .loads = {}};
  told.loads.push_back({.shard = 0, .process = "a", .epoch = 3, .writes_per_s = 5});
  told.loads.push_back({.shard = 0, .process = "b", .epoch = 4, .writes_per_s = 7});
  const auto shards = planned_shards(told);
  ASSERT_THAT(shards, SizeIs(1));
  EXPECT_EQ(shards[0].process, "b");
  EXPECT_EQ(shards[0].writes_per_s, 7);
}

}  // namespace
}  // namespace tidemark::api
