// Claims of several processes over one table, with a clock of the test.
#include "common/shards/shard_claims.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/support/seeded_random.h"

namespace tidemark::kv {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;

constexpr nanoseconds kPatience = 7s;
constexpr nanoseconds kTick = 500ms;

/// The database and the processes around it. A process that serves a shard whose owner has another epoch is fenced: it
/// finds that out with its next turn.
class ShardClaimsTest : public ::testing::Test {
 protected:
  struct Process {
    explicit Process(const std::string& name, std::size_t shards)
        : claims(name, kPatience), mine(shards, shards::Holding::kNothing), epochs(shards) {}
    shards::ShardClaims claims;
    std::vector<shards::Holding> mine;
    std::vector<std::int64_t> epochs;
    bool runs = true;        // false: killed, or stopped
    bool claims_any = true;  // false: its claims fail
  };

  void make(std::size_t shards) { table_.shards.resize(shards); }
  void start(const std::string& name) {
    processes_.insert_or_assign(name, std::make_unique<Process>(name, table_.shards.size()));
    table_.processes.push_back({name, "ipc:///" + name, 0});
  }
  Process& of(const std::string& name) { return *processes_.at(name); }

  void renew(const std::string& name, Process& process) {
    for (auto& row : table_.processes) {
      if (row.name == name) ++row.renewals;
    }
    for (std::size_t shard = 0; shard < process.mine.size(); ++shard) {
      auto& row = table_.shards[shard];
      if (process.mine[shard] == shards::Holding::kServes && row.seen.epoch == process.epochs[shard])
        ++row.seen.renewals;
    }
  }

  void turn(const std::string& name, Process& process) {
    if (now_ % (4 * kTick) == 0ns) renew(name, process);
    for (std::size_t shard = 0; shard < process.mine.size(); ++shard) {
      auto& row = table_.shards[shard];
      auto& mine = process.mine[shard];
      if (mine == shards::Holding::kServes && row.seen.epoch != process.epochs[shard]) mine = shards::Holding::kNothing;
      if (mine == shards::Holding::kLeaves) {
        row.released = true;
        mine = shards::Holding::kNothing;
      }
    }
    const auto plan = process.claims.plan(table_, process.mine, {now_, now_ + 1ms});
    for (const auto shard : plan.claim) {
      if (!process.claims_any) continue;
      auto& row = table_.shards[shard];
      if (!row.released && row.process != name) ++takeovers_;
      row.released = false;
      row.process = name;
      process.epochs[shard] = ++row.seen.epoch;
      process.mine[shard] = shards::Holding::kServes;
    }
    if (plan.release) {
      process.mine[*plan.release] = shards::Holding::kLeaves;
      ++releases_;
    }
  }

  void pass(nanoseconds time) {
    for (const auto until = now_ + time; now_ < until; now_ += kTick) {
      for (auto& [name, process] : processes_) {
        if (process->runs) turn(name, *process);
      }
    }
  }

  /// How many shards a process serves, as the database sees it.
  std::size_t held(const std::string& name) {
    return static_cast<std::size_t>(
        std::ranges::count_if(table_.shards, [&](const auto& row) { return row.process == name && !row.released; }));
  }

  shards::OwnersTable table_;
  std::map<std::string, std::unique_ptr<Process>> processes_;
  nanoseconds now_ = 1000s;
  int releases_ = 0, takeovers_ = 0;
};

TEST_F(ShardClaimsTest, OneAloneTakesAllAtOnce) {
  make(8);
  start("a");
  pass(kTick);
  EXPECT_EQ(held("a"), 8U);
  pass(60s);
  EXPECT_EQ(releases_ + takeovers_, 0);
}

TEST_F(ShardClaimsTest, WhoeverComesLaterGetsItsShareAndThenNothingMovesAnyMore) {
  make(8);
  start("a");
  pass(5s);
  start("b");
  pass(20s);
  EXPECT_EQ(held("a"), 4U);
  EXPECT_EQ(held("b"), 4U);
  start("c");
  pass(20s);
  const std::vector<std::size_t> all{held("a"), held("b"), held("c")};
  EXPECT_EQ(std::ranges::min(all), 2U);
  EXPECT_EQ(std::accumulate(all.begin(), all.end(), 0UL), 8U);
  const auto released = releases_;
  pass(600s);
  EXPECT_EQ(releases_, released);
  EXPECT_EQ(takeovers_, 0) << "all of it was handed over";
}

TEST_F(ShardClaimsTest, EvenFewerShardsThanTheOthersHaveAreShared) {
  make(4);
  for (const auto* name : {"a", "b"}) start(name);
  pass(10s);
  start("c");
  pass(20s);
  EXPECT_GE(held("c"), 1U);
  EXPECT_EQ(held("a") + held("b") + held("c"), 4U);
}

TEST_F(ShardClaimsTest, TheShardsOfADeadOneAreTakenOnceItsLeaseIsOverAndNotBefore) {
  make(6);
  for (const auto* name : {"a", "b", "c"}) start(name);
  pass(20s);
  ASSERT_EQ(held("a"), 2U);
  of("a").runs = false;
  pass(4500ms);  // it may have renewed two seconds before
  EXPECT_EQ(held("a"), 2U);
  pass(5s);
  EXPECT_EQ(held("a"), 0U) << "within 9.5 s";
  EXPECT_EQ(held("b"), 3U);
  EXPECT_EQ(held("c"), 3U);
}

TEST_F(ShardClaimsTest, AFrozenOneComesBackAndGetsItsShareWithoutTakingAnything) {
  make(6);
  for (const auto* name : {"a", "b"}) start(name);
  pass(20s);
  of("a").runs = false;
  pass(30s);
  ASSERT_EQ(held("b"), 6U);
  const auto takeovers = takeovers_;
  of("a").runs = true;
  pass(20s);
  EXPECT_EQ(held("a"), 3U);
  EXPECT_EQ(held("b"), 3U);
  EXPECT_EQ(takeovers_, takeovers);
}

/// It watched nothing while it was stopped: its earlier reads say nothing about the time in between.
TEST_F(ShardClaimsTest, AWatcherThatWasStoppedTakesNothingFromTheLiving) {
  make(1);
  table_.processes = {{"other", "", 0}};
  table_.shards[0] = {.seen = {1, 0}, .process = "other", .released = false};
  shards::ShardClaims watcher("watcher", kPatience);
  const std::vector<shards::Holding> nothing{shards::Holding::kNothing};
  const auto claims = [&](nanoseconds at) { return !watcher.plan(table_, nothing, {at, at + 1s}).claim.empty(); };
  EXPECT_FALSE(claims(1000s));
  ++table_.shards[0].seen.renewals;
  ++table_.processes[0].renewals;
  EXPECT_FALSE(claims(2000s)) << "it moved meanwhile";
  EXPECT_FALSE(claims(2007s)) << "seen moving when that reading had ended";
  EXPECT_TRUE(claims(2008s));
}

TEST_F(ShardClaimsTest, ARenewalByACommitIsASignOfLife) {
  make(1);
  start("a");
  pass(5s);
  start("b");
  of("a").runs = false;
  for (int i = 0; i < 100; ++i) {
    ++table_.shards[0].seen.renewals;
    pass(1s);
  }
  EXPECT_EQ(held("a"), 1U);
}

TEST_F(ShardClaimsTest, WhoeverRanInTheSamePlaceIsNotWaitedFor) {
  make(4);
  start("before");
  pass(5s);
  of("before").runs = false;
  start("after");
  for (auto& row : table_.shards) row.ended = true;
  pass(2s);
  EXPECT_EQ(held("after"), 4U - held("before"));
  EXPECT_GE(held("after"), 2U) << "its share, as long as the other one seems to live";
  pass(10s);
  EXPECT_EQ(held("after"), 4U);
}

TEST_F(ShardClaimsTest, AWishIsFollowedAndKept) {
  make(6);
  for (const auto* name : {"a", "b", "c"}) start(name);
  pass(20s);
  const auto shard = static_cast<std::size_t>(std::ranges::find(table_.shards, "a", &shards::OwnerRow::process) -
                                              table_.shards.begin());
  table_.shards[shard].wish = "b";
  pass(3s);
  EXPECT_EQ(table_.shards[shard].process, "b");
  pass(120s);
  EXPECT_EQ(table_.shards[shard].process, "b");
  EXPECT_EQ(held("a") + held("b") + held("c"), 6U);
  EXPECT_LE(std::max(held("a"), held("c")) - std::min(held("a"), held("c")), 1U);
}

TEST_F(ShardClaimsTest, AWishForSomebodyWhoIsGoneCountsForNothing) {
  make(2);
  start("a");
  for (auto& row : table_.shards) row.wish = "nobody";
  pass(kTick);
  EXPECT_EQ(held("a"), 2U);
}

/// Its claims fail all the time: nobody gives it one shard after another in vain.
TEST_F(ShardClaimsTest, WhatNobodyTakesIsNotGivenAwayAgainAndAgain) {
  make(4);
  start("a");
  pass(5s);
  start("broken");
  of("broken").claims_any = false;
  pass(600s);
  pass(60s);  // for the shard that was given away just now
  EXPECT_EQ(held("a"), 4U);
  EXPECT_LE(releases_, 9);
}

/// A shard whose engine failed, so that the process gave it up without releasing it, is taken again at once.
TEST_F(ShardClaimsTest, AFailedEngineIsOpenedAgain) {
  make(2);
  start("a");
  pass(5s);
  of("a").mine[0] = shards::Holding::kNothing;
  const auto epoch = table_.shards[0].seen.epoch;
  pass(2 * kTick);
  EXPECT_EQ(table_.shards[0].seen.epoch, epoch + 1);
  EXPECT_EQ(of("a").mine[0], shards::Holding::kServes);
}

TEST_F(ShardClaimsTest, RowsOfProcessesThatAreLongGoneAreNamed) {
  make(1);
  for (const auto* name : {"a", "b"}) start(name);
  pass(5s);
  of("b").runs = false;
  pass(500s);
  EXPECT_TRUE(of("a").claims.forgotten(table_, {now_, now_}).empty());
  pass(200s);
  const auto forgotten = of("a").claims.forgotten(table_, {now_, now_});
  ASSERT_EQ(forgotten.size(), 1U);
  EXPECT_EQ(forgotten.front().name, "b");
}

/// After deaths, freezes and restarts of any kind, each shard soon has one living owner, and shares are even.
TEST_F(ShardClaimsTest, ConvergesWhateverHappened) {
  SeededRandom random(7);
  make(16);
  for (const auto* name : {"a", "b", "c", "d"}) start(name);
  for (int round = 0; round < 50; ++round) {
    for (auto& [name, process] : processes_) process->runs = random.next() % 3 > 0;
    pass(std::chrono::seconds(random.next() % 15));
    of("a").runs = true;
    pass(40s);
    std::vector<std::size_t> of_living;
    std::size_t sum = 0;
    for (auto& [name, process] : processes_) {
      if (process->runs) of_living.push_back(held(name));
      sum += process->runs ? held(name) : 0;
    }
    ASSERT_EQ(sum, 16U) << "round " << round;
    ASSERT_LE(std::ranges::max(of_living) - std::ranges::min(of_living), 1U) << "round " << round;
  }
}

}  // namespace
}  // namespace tidemark::kv
