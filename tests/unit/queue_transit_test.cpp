// Messages on their way to a queue that is spread, deleted or made anew meanwhile: each arrives once, in the right
// place.
#include "tests/unit/queue_spread_fixture.h"

namespace tidemark::queue_service {
namespace {

class QueueTransit : public QueueSpread {};

/// Some groups and keys have their part on the queue's own shard, the others elsewhere.
TEST_F(QueueTransit, WhatComesToAQueueThatWasSpreadMeanwhileGoesIntoItsPart) {
  engines_[1].refusing = true;
  for (int i = 0; i < 8; ++i) {
    const auto name = std::to_string(i);
    const auto lease = put_and_take_of_group(on(0), "first of " + name, "group " + name);
    EXPECT_TRUE(run(queues_->move(lease, {.to_queue = on(1)})).failed_with(ErrorCode::kServerBusy));
    EXPECT_TRUE(run(queues_->finish(put_and_take(on(0)), {{on(1), {.text = "once", .idempotency_key = name}}}))
                    .failed_with(ErrorCode::kServerBusy));
  }
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->patch_metadata("acc", on(1), {{std::string(kPartsName), "4"}})));
  for (int round = 0; round < 2; ++round) ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(on_their_way(), 0U);
  EXPECT_EQ(count(on(1)), 16U);
  for (int i = 0; i < 8; ++i) {
    const auto name = std::to_string(i);
    ASSERT_TRUE(run(queues_->put("acc", on(1), {.text = "once", .idempotency_key = name})));
    put("second of " + name, "group " + name, on(1));
  }
  EXPECT_EQ(count(on(1)), 24U) << "no key is there twice";
  EXPECT_EQ(take(32, on(1)).size(), 16U) << "of each group one";
  expect_sound();
}

TEST_F(QueueTransit, WhoeverMovesAMessageToAQueueThatIsSpreadMeanwhileIsToldWhereItIs) {
  const auto spread = [this](QueueService& queues) {
    return queues.patch_metadata("acc", on(1), {{std::string(kPartsName), "4"}});
  };
  for (int i = 0; i < 8; ++i) {
    const auto name = std::to_string(i);
    const auto lease = put_and_take_of_group(on(0), "text", "group " + name);
    meanwhile(1, spread);
    const auto moved = run(queues_->move(lease, {.to_queue = on(1)}));
    ASSERT_TRUE(moved) << moved.error().message;
    EXPECT_TRUE(run(queues_->erase({"acc", place_of_receipt(on(1), moved->receipt), moved->id, 0, moved->receipt})));
    ASSERT_TRUE(run(queues_->delete_queue("acc", on(1))));
    ASSERT_TRUE(run(queues_->create_queue("acc", on(1), {})));

    const auto other_lease = put_and_take(on(0));
    meanwhile(1, spread);
    const auto put = run(queues_->finish(other_lease, {{on(1), {.text = "once", .idempotency_key = name}}}));
    ASSERT_TRUE(put) << put.error().message;
    EXPECT_TRUE(run(queues_->erase(
        {"acc", place_of_receipt(on(1), put->front().receipt), put->front().id, 0, put->front().receipt})));
    ASSERT_TRUE(run(queues_->delete_queue("acc", on(1))));
    ASSERT_TRUE(run(queues_->create_queue("acc", on(1), {})));
  }
  EXPECT_EQ(on_their_way(), 0U);
  expect_sound();
}

TEST_F(QueueTransit, AnotherProcessIsToldWhereItsMessagesWerePutInTheEnd) {
  engines_[1].refusing = true;
  for (int i = 0; i < 8; ++i) {
    const auto lease = put_and_take_of_group(on(0), "text", "group " + std::to_string(i));
    EXPECT_FALSE(run(queues_->move(lease, {.to_queue = on(1)})));
  }
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->patch_metadata("acc", on(1), {{std::string(kPartsName), "4"}})));
  const auto arrived = run(queues_->arrive(1, 0, read_departed(*engines_[0].snapshot(), 1, 8).value()));
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->size(), 8U);
  for (const auto& [number, arrival] : *arrived) EXPECT_TRUE(arrival && std::holds_alternative<Placed>(*arrival));
  EXPECT_EQ(count(on(1)), 8U);
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(on_their_way(), 0U);
  EXPECT_EQ(count(on(1)), 8U) << "none arrived twice";
}

TEST_F(QueueTransit, WhatComesFromTheSameShardGoesIntoItsPartToo) {
  const auto source = another_on(1);
  const auto spread = [this](QueueService& queues) {
    return queues.patch_metadata("acc", on(1), {{std::string(kPartsName), "4"}});
  };
  const auto lease = put_and_take_of_group(source, "first", "group");
  meanwhile(1, spread);
  static_cast<void>(run(queues_->move(lease, {.to_queue = on(1)})));
  put("second", "group", on(1));
  auto taken = take(32, on(1));
  std::ranges::move(take(32, on(1)), std::back_inserter(taken));
  EXPECT_EQ(texts_of(taken), std::set<std::string>{"first"});

  ASSERT_TRUE(run(queues_->delete_queue("acc", on(1))));
  ASSERT_TRUE(run(queues_->create_queue("acc", on(1), {})));
  const auto other_lease = put_and_take(source);
  meanwhile(1, spread);
  static_cast<void>(run(queues_->finish(other_lease, {{on(1), {.text = "once", .idempotency_key = "key"}}})));
  ASSERT_TRUE(run(queues_->put("acc", on(1), {.text = "once", .idempotency_key = "key"})));
  EXPECT_EQ(count(on(1)), 1U);
  expect_sound();
}

TEST_F(QueueTransit, AMoveToAQueueThatIsDeletedMeanwhileLosesNothing) {
  for (const std::uint32_t parts_by_then : {1U, 2U}) {
    for (std::size_t shard = 1; shard < kShards; ++shard) engines_[shard].refusing = true;
    for (int i = 0; i < 8; ++i) static_cast<void>(run(queues_->move(put_and_take(on(0)), {.to_queue = "spread"})));
    const auto under_way = on_their_way();
    EXPECT_EQ(under_way, 6U) << "the others are in a part that is here";
    for (auto& engine : engines_) engine.refusing = false;
    ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
    ASSERT_TRUE(run(queues_->delete_queue("acc", "spread-poison")));
    if (parts_by_then > 1) make("spread", parts_by_then);
    for (int round = 0; round < 2; ++round) ASSERT_TRUE(run(queues_->carry_on()));
    EXPECT_EQ(on_their_way(), 0U);
    EXPECT_EQ(count(), under_way);
    expect_sound();
    ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
    if (parts_by_then == 1) make();
  }
}

TEST_F(QueueTransit, AMoveToAPartThatGoesMeanwhileOnTheSameShardLosesNothing) {
  const auto& source = on(queues_->shard_of("acc", "spread#2.4"));
  for (int i = 0; i < 4; ++i) {  // one of them to this part
    const auto lease = put_and_take(source, "kept " + std::to_string(i));
    meanwhile(queues_->shard_of("acc", source),
              [](QueueService& queues) { return queues.delete_queue("acc", "spread"); });
    static_cast<void>(run(queues_->move(lease, {.to_queue = "spread"})));
    for (int round = 0; round < 2; ++round) ASSERT_TRUE(run(queues_->carry_on()));
    EXPECT_EQ(count(), 1U);
    ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
    make();
  }
}

TEST_F(QueueTransit, WhatBecameOfAMessageIsKeptForWhoeverWaitsHoweverManyArriveMeanwhile) {
  constexpr std::size_t kFinishes = 42;  // with 32 follow-ups each
  std::vector<std::shared_ptr<std::optional<Result<std::vector<Placed>>>>> finishes;
  std::vector<LeaseKey> leases;
  for (std::size_t i = 0; i < kFinishes; ++i) leases.push_back(put_and_take(on(0)));
  engines_[1].before_next = [&] {  // all of them depart before the first arrives
    for (const auto& lease : leases) {
      finishes.push_back(
          started(queues_->finish(lease, std::vector<FollowUp>(kMaxFollowUps, {on(1), {.text = "next"}}))));
    }
    io_.poll();
  };
  ASSERT_TRUE(run(queues_->move(put_and_take(on(0)), {.to_queue = on(1)})));
  for (const auto& finish : finishes) {
    const auto placed = poll(finish);
    ASSERT_TRUE(placed);
    ASSERT_TRUE(*placed) << placed->error().message;
    EXPECT_FALSE((*placed)->back().receipt.empty());
  }
  EXPECT_EQ(count(on(1)), 1 + kFinishes * kMaxFollowUps);
  EXPECT_EQ(on_their_way(), 0U);
}

TEST_F(QueueTransit, NobodyWaitsForWhatDepartsLater) {
  constexpr std::size_t kLater = 20;
  for (const bool upkeep : {false, true}) {
    std::vector<LeaseKey> leases;
    for (std::size_t i = 0; i < kLater; ++i) leases.push_back(put_and_take(on(0)));
    const auto first = put_and_take(on(0));
    engines_[1].refusing = upkeep;
    if (upkeep) {
      EXPECT_FALSE(run(queues_->move(first, {.to_queue = on(1)})));
    }
    engines_[1].refusing = false;
    std::function<void()> another = [&] {  // at each arrival another one departs
      if (leases.empty()) return;
      started(queues_->move(leases.back(), {.to_queue = on(1)}));
      leases.pop_back();
      engines_[1].before_next = another;
      io_.poll();
    };
    engines_[1].before_next = another;
    std::size_t still_to_come = 0;
    const auto carried = [&]() -> Task<Result<void>> {
      if (upkeep) {
        CO_TRY(co_await queues_->carry_on());
      } else {
        CO_TRY(co_await queues_->move(first, {.to_queue = on(1)}));
      }
      still_to_come = leases.size();
      co_return Result<void>{};
    };
    ASSERT_TRUE(run(carried()));
    EXPECT_GT(still_to_come, kLater / 2);
    EXPECT_EQ(on_their_way(), 0U) << "those who wait carry on";
  }
  EXPECT_EQ(count(on(1)), 2 * (1 + kLater));
}

TEST_F(QueueTransit, AFollowUpThatCannotBePutAnyMoreDoesNotDelayTheOthers) {
  auto upkeep = start([](QueueService& queues) -> Task<bool> {
    co_await queues.keep_up(std::chrono::seconds(3600));
    co_return true;
  }(*queues_));
  const auto lease = put_and_take(on(0));
  meanwhile(1, [this](QueueService& queues) { return queues.delete_queue("acc", on(1)); });
  EXPECT_TRUE(run(queues_->finish(lease, {{on(1), {.text = "gone"}}, {on(2), {.text = "there"}}}))
                  .failed_with(ErrorCode::kQueueNotFound));
  advance(std::chrono::seconds(1));
  EXPECT_EQ(on_their_way(), 0U);
  EXPECT_EQ(texts_in(on(2)), Texts{"there"});
  queues_->begin_shutdown();
  EXPECT_TRUE(poll(upkeep).has_value());
}

}  // namespace
}  // namespace tidemark::queue_service
