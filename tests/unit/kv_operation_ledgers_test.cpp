// Ledgers of an operation that writes to several shards, while shards fail in the middle of any step: nothing is
// written under a lower epoch once something was written under a higher one, nothing once it is closed, and the counts
// are those of the writes.
#include "common/shards/operation_ledgers.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/kv/key_codec.h"
#include "tests/support/failing_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/standing_clock.h"
#include "tests/support/task_runner.h"
#include "tests/support/test_owners.h"

namespace tidemark::kv {
namespace {

std::string ledger_key(std::string_view account, std::string_view operation) {
  return key('L', Text{account}, operation);
}

class Ledgers : public ::testing::Test, protected TaskRunner {
 protected:
  static constexpr std::size_t kShards = 4;

  Ledgers() {
    for (std::size_t i = 0; i < kShards; ++i) engines_.push_back(std::make_unique<FailingEngine>(left_));
    for (auto& engine : engines_) shards_.all.push_back({*engine, clock_});
    shards_.placement = shards::Placement(kShards, shards::Placement::Key{1, 2, 3});
    ledgers_.emplace(shards_, &ledger_key);
  }
  /// Divides the shards between two processes from now on.
  void share() {
    for (auto& process : processes_) {
      shards_.peers = &process.owners;
      process.ledgers.emplace(shards_, &ledger_key);
      process.owners.dispatch = rpc::make_dispatch(*process.ledgers, kHandlers);
    }
    for (std::size_t shard = 0; shard < kShards; ++shard) places_[shard] = &processes_[shard % 2].owners;
    shared_ = true;
  }
  shards::OperationLedgers& of(std::size_t shard) {
    if (!shared_) return *ledgers_;
    return places_[shard] == &processes_[0].owners ? *processes_[0].ledgers : *processes_[1].ledgers;
  }
  [[nodiscard]] std::size_t home_shard() const { return ledgers_->home_of("acc", "op"); }
  shards::OperationLedgers& home() { return of(home_shard()); }

  static Fence fence(std::uint64_t epoch, std::uint64_t since = 0) { return {"op", epoch, "done", since}; }
  /// Writes as a store does under a fence.
  Task<Result<void>> write(std::size_t shard, Fence fence) {
    bool done = false;
    for (bool entered = false; !done; entered = true) {
      if (entered) CO_TRY(co_await of(shard).enter(shard, "acc", fence));
      CO_TRY(co_await engines_[shard]->transact([&](Transaction& txn) -> Result<void> {
        done = TRY(of(shard).fenced_on(shard, txn, "acc", fence, entered,
                                       [](OperationLedger&) -> Result<std::uint64_t> { return 1; }));
        return {};
      }));
    }
    co_return Result<void>{};
  }
  Result<void> written(std::size_t shard, std::uint64_t epoch) { return run(write(shard, fence(epoch))); }
  std::uint64_t done() { return run(ledgers_->read_operation("acc", "op"))->counter("done"); }
  std::size_t rows() {
    std::size_t count = 0;
    for (auto& engine : engines_) count += (*engine->get(ledger_key("acc", "op"))).has_value() ? 1 : 0;
    return count;
  }

  /// An hour later, makes a round over all shards; ten hours are kept.
  void fade() {
    now_ += std::chrono::hours(1);
    std::vector<Engine*> engines;
    for (auto& engine : engines_) engines.push_back(engine.get());
    for (std::size_t shard = 0; shard < kShards; ++shard) {
      ASSERT_TRUE(run(shards::drop_faded_ledgers(engines, shard, {{"L", "M"}, "l"}, std::chrono::hours(10), now_)));
    }
  }

  StandingClock clock_;
  Time now_ = clock_.now();
  Allowance left_ = std::make_shared<std::optional<std::size_t>>();
  std::vector<std::unique_ptr<FailingEngine>> engines_;
  shards::Shards shards_;
  std::optional<shards::OperationLedgers> ledgers_;

  struct Process {
    explicit Process(TestOwners::Places& places) : owners(places) {}
    TestOwners owners;
    std::optional<shards::OperationLedgers> ledgers;
  };
  using Face = rpc::Face<shards::OperationLedgers>;
  static constexpr Face::Handler kHandlers[] = {
      Face::on<shards::calls::ChangeLedger, &shards::OperationLedgers::change_ledger>()};
  TestOwners::Places places_ = TestOwners::Places(kShards);
  std::array<Process, 2> processes_{Process(places_), Process(places_)};
  bool shared_ = false;
};

TEST_F(Ledgers, WhatIsCountedOnAllShardsAddsUp) {
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    for (std::size_t i = 0; i <= shard; ++i) ASSERT_TRUE(written(shard, 1));
  }
  EXPECT_EQ(done(), 10U);
  EXPECT_EQ(run(home().open_operation("acc", "op", 1))->counter("done"), 10U);
  EXPECT_EQ(run(home().close_operation("acc", "op", 1))->counter("done"), 10U);
}

TEST_F(Ledgers, ASecondWriteToAShardIsOneTransaction) {
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    *left_ = 1;
    EXPECT_TRUE(written(shard, 1)) << shard;
  }
}

TEST_F(Ledgers, AStaleAttemptIsRefusedOnEveryShard) {
  for (std::size_t shard = 0; shard + 1 < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  ASSERT_TRUE(run(home().open_operation("acc", "op", 2)));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(written(shard, 1).failed_with(ErrorCode::kFenced)) << shard;
  }
  EXPECT_EQ(done(), 3U);
}

TEST_F(Ledgers, AWriteUnderAHigherEpochFencesTheLowerOneEverywhere) {
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  ASSERT_TRUE(written(2, 5));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(written(shard, 4).failed_with(ErrorCode::kFenced)) << shard;
  }
}

TEST_F(Ledgers, AClosedOperationWritesNowhere) {
  for (const std::size_t shard : {0U, 2U}) ASSERT_TRUE(written(shard, 1));
  ASSERT_TRUE(run(home().close_operation("acc", "op", 1)));
  ASSERT_TRUE(run(home().close_operation("acc", "op", 1))) << "the reply may have been lost";
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    for (const std::uint64_t epoch : {1U, 2U}) {
      EXPECT_TRUE(written(shard, epoch).failed_with(ErrorCode::kFenced)) << shard;
    }
  }
  EXPECT_TRUE(run(home().open_operation("acc", "op", 2))->closed);
}

TEST_F(Ledgers, AnotherTextBeginsAnewEverywhere) {
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 3));
  ASSERT_TRUE(run(home().close_operation("acc", "op", 3)));
  EXPECT_FALSE(run(home().open_operation("acc", "op", 4, 3))->closed);
  EXPECT_EQ(done(), 0U);
  ASSERT_TRUE(run(write(1, fence(4, 3))));
  EXPECT_EQ(done(), 1U);
  EXPECT_TRUE(written(2, 3).failed_with(ErrorCode::kFenced));
}

TEST_F(Ledgers, AForgottenOperationLeavesNothing) {
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  ASSERT_TRUE(run(home().forget_operation("acc", "op")));
  EXPECT_EQ(rows(), kShards) << "it is open";
  ASSERT_TRUE(run(home().close_operation("acc", "op", 1)));
  *left_ = 2;  // after these, everything fails
  EXPECT_FALSE(run(home().forget_operation("acc", "op")));
  left_->reset();
  ASSERT_TRUE(run(home().forget_operation("acc", "op")));
  EXPECT_EQ(rows(), 0U);
}

TEST_F(Ledgers, AnOperationThatWritesElsewhereForLongDoesNotFadeAtHome) {
  const auto elsewhere = (home_shard() + 1) % kShards;
  ASSERT_TRUE(written((home_shard() + 2) % kShards, 1));
  for (int hour = 0; hour < 30; ++hour) {
    ASSERT_TRUE(written(elsewhere, 1));
    fade();
  }
  EXPECT_EQ(done(), 31U) << "also what was counted long ago";
  ASSERT_TRUE(run(ledgers_->open_operation("acc", "op", 2)));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(written(shard, 1).failed_with(ErrorCode::kFenced)) << shard;
  }
}

TEST_F(Ledgers, AnOperationFadesOnceNothingOfItChangesAnyMore) {
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  for (int hour = 0; hour < 10; ++hour) fade();
  EXPECT_EQ(rows(), kShards);
  for (int hour = 0; hour < 2; ++hour) fade();
  EXPECT_EQ(rows(), 0U);
}

TEST_F(Ledgers, AStaleAttemptIsRefusedByTheOwnersOfAllShards) {
  share();
  for (std::size_t shard = 0; shard + 1 < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  ASSERT_TRUE(run(home().open_operation("acc", "op", 2)));
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(written(shard, 1).failed_with(ErrorCode::kFenced)) << shard;
  }
  ASSERT_TRUE(written(3, 2));
  EXPECT_EQ(run(home().close_operation("acc", "op", 2))->counter("done"), 4U);
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_TRUE(written(shard, 3).failed_with(ErrorCode::kFenced)) << shard;
  }
  ASSERT_TRUE(run(home().forget_operation("acc", "op")));
  EXPECT_EQ(rows(), 0U);
}

TEST_F(Ledgers, AShardWhoseOwnerIsGoneIsNotPassedOver) {
  share();
  for (std::size_t shard = 0; shard < kShards; ++shard) ASSERT_TRUE(written(shard, 1));
  const auto gone = (home_shard() + 1) % kShards;
  auto* const owner = std::exchange(places_[gone], nullptr);
  EXPECT_TRUE(run(home().close_operation("acc", "op", 1)).failed_with(ErrorCode::kServerBusy));
  places_[gone] = owner;
  EXPECT_FALSE(run(home().open_operation("acc", "op", 2))->closed) << "it was not closed at home";
  EXPECT_TRUE(run(home().close_operation("acc", "op", 2)));
  EXPECT_TRUE(written(gone, 2).failed_with(ErrorCode::kFenced));
}

TEST_F(Ledgers, OneShardKeepsTheLedgerAsEver) {
  const shards::OperationLedgers alone(*engines_[0], &ledger_key);
  ASSERT_TRUE(run(alone.open_operation("acc", "op", 3)));
  const auto bytes = (*engines_[0]->get(ledger_key("acc", "op"))).value();
  EXPECT_EQ(bytes, encode_ledger({.epoch = 3, .closed = false, .counters = {}}));
}

/// One operation, attempts with rising epochs of which earlier ones go on, and failures at every place.
class LedgersAtRandom : public Ledgers, public ::testing::WithParamInterface<std::uint64_t> {
 protected:
  void step(Random& random) {
    // An attempt that fails in the middle is like a process that died there, but may go on.
    if (random.below(3) == 0) *left_ = random.below(6);
    if (shared_ && random.below(4) == 0) places_[random.below(kShards)] = &processes_[random.below(2)].owners;
    const auto epoch = 1 + random.below(newest_) + (random.below(12) == 0 ? 1 : 0);
    newest_ = std::max(newest_, epoch);
    const auto shard = random.below(kShards);
    switch (random.below(20)) {
      case 0:
        if (auto opened = run(home().open_operation("acc", "op", epoch)); opened && !opened->closed) {
          ASSERT_GE(epoch, written_under_);
        }
        break;
      case 1:
        if (epochs_ > 0 && run(home().close_operation("acc", "op", epoch))) {
          ASSERT_GE(epoch, written_under_);
          closed_ = true;
        }
        break;
      default:
        if (written(shard, epoch)) {
          ASSERT_FALSE(closed_) << "a write after it was closed";
          ASSERT_GE(epoch, written_under_) << "a write of a stale attempt";
          written_under_ = epoch;
          ++writes_;
          ++epochs_;
        }
    }
    left_->reset();
    ASSERT_EQ(done(), writes_);
  }
  std::uint64_t newest_ = 1, written_under_ = 0, writes_ = 0, epochs_ = 0;
  bool closed_ = false;
};

TEST_P(LedgersAtRandom, NothingStaleIsWrittenAndNothingAfterItIsClosed) {
  const auto random = make_seeded_random(GetParam());
  for (int i = 0; i < 120; ++i) {
    step(*random);
    if (HasFatalFailure()) FAIL() << "at step " << i;
  }
}

TEST_P(LedgersAtRandom, NorWhileShardsMoveBetweenTwoProcesses) {
  share();
  const auto random = make_seeded_random(GetParam());
  for (int i = 0; i < 120; ++i) {
    step(*random);
    if (HasFatalFailure()) FAIL() << "at step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, LedgersAtRandom, ::testing::Range<std::uint64_t>(1, 61));

}  // namespace
}  // namespace tidemark::kv
