// Queues over several shards: operations that span them, and messages on their way from one to another when a shard
// fails or the process dies in between.
#include "tests/unit/queue_shards_fixture.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;

TEST_F(QueueShards, AreListedInOrderAndInPages) {
  std::vector<std::string> expected;
  for (int i = 100; i < 150; ++i) {
    expected.push_back("listed-" + std::to_string(i));
    ASSERT_TRUE(run(queues_->create_queue("acc", expected.back(), {})));
  }
  std::vector<std::string> listed;
  std::string from;
  do {
    const auto page = queues_->list_queues("acc", "listed-", from, 7);
    ASSERT_TRUE(page);
    for (const auto& queue : page->queues) listed.push_back(queue.name);
    from = page->next.value_or("");
  } while (!from.empty());
  EXPECT_EQ(listed, expected);

  std::vector<std::string> counted;
  for (auto next = std::string(); counted.empty() || !next.empty();) {
    const auto page = queues_->all_figures("acc", next, 9);
    ASSERT_TRUE(page);
    for (const auto& queue : page->queues) counted.push_back(queue.queue);
    next = page->next;
  }
  EXPECT_EQ(counted.size(), expected.size() + kShards);
  EXPECT_TRUE(std::ranges::is_sorted(counted));
}

TEST_F(QueueShards, EachHasItsQueuesAlone) {
  for (const auto& [shard, name] : names_) {
    EXPECT_EQ(kv::keys_under(engines_[shard], "q"), std::vector{queue_keys::queue("acc", name)});
  }
}

TEST_F(QueueShards, AQueueAndItsPoisonQueueAreTogether) {
  const auto lease = put_and_take(on(1));
  ASSERT_TRUE(run(queues_->move(lease, {.to_queue = on(1) + "-poison"})));
  EXPECT_EQ(kv::keys_under(engines_[1], "q").size(), 2U);
  EXPECT_EQ(on_their_way(), 0U);
}

TEST_F(QueueShards, AMessageMovesToAnotherShard) {
  const auto lease = put_and_take(on(0), "moved");
  const auto placed = run(queues_->move(lease, {.to_queue = on(3), .annotation = "why"}));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->id, lease.message_id);
  EXPECT_EQ(texts_in(on(0)), Texts{});
  const auto message = taken_from(on(3));
  EXPECT_EQ(message.id, lease.message_id);
  EXPECT_EQ(message.annotation, "why");
  EXPECT_EQ(message.epoch, lease.epoch + 1) << "epochs rise wherever a message goes";
  EXPECT_EQ(on_their_way(), 0U);
  expect_sound();
}

TEST_F(QueueShards, AWaitingReceiverOfAnotherShardIsWoken) {
  const auto waiting = start(queues_->get("acc", on(2), {.visibility = seconds(30)}, {.span = seconds(20)}));
  const auto lease = put_and_take(on(0), "come");
  ASSERT_TRUE(run(queues_->move(lease, {.to_queue = on(2)})));
  const auto taken = poll(waiting);
  ASSERT_TRUE(taken && *taken && (*taken)->size() == 1);
  EXPECT_EQ((*taken)->front().message.text, "come");
}

TEST_F(QueueShards, FollowUpsGoToAllOfThem) {
  const auto lease = put_and_take(on(0));
  std::vector<FollowUp> next;
  for (const auto& [shard, name] : names_) next.push_back({name, {.text = "after " + name}});
  const auto placed = run(queues_->finish(lease, next));
  ASSERT_TRUE(placed);
  ASSERT_EQ(placed->size(), kShards);
  for (std::size_t i = 0; i < kShards; ++i) {
    const auto message = taken_from(next[i].queue);
    EXPECT_EQ(message.text, next[i].message.text);
    EXPECT_EQ(message.id, (*placed)[i].id);
    EXPECT_FALSE((*placed)[i].receipt.empty());
  }
  expect_sound();
}

TEST_F(QueueShards, AFollowUpThatCannotBePutChangesNothing) {
  const auto lease = put_and_take(on(0));
  std::string absent;
  for (int i = 0; absent.empty() || shards_.placement.of({"acc", absent}) != 1; ++i) {
    absent = "absent-" + std::to_string(i);
  }
  EXPECT_TRUE(run(queues_->finish(lease, {{absent, {.text = "a"}}})).failed_with(ErrorCode::kQueueNotFound));
  ASSERT_TRUE(run(queues_->put("acc", on(1), {.text = "one", .idempotency_key = "key"})));
  EXPECT_TRUE(run(queues_->finish(lease, {{on(1), {.text = "two", .idempotency_key = "key"}}}))
                  .failed_with(ErrorCode::kIdempotencyKeyReused));
  EXPECT_TRUE(run(queues_->finish(lease, {{on(1), {.text = "one", .idempotency_key = "key"}}})));
  EXPECT_EQ(texts_in(on(1)), Texts{"one"}) << "the same key gives the same message";
}

TEST_F(QueueShards, AMessageArrivesOnceItsShardTakesIt) {
  const auto lease = put_and_take(on(0), "late");
  engines_[1].refusing = true;
  EXPECT_TRUE(run(queues_->move(lease, {.to_queue = on(1)})).failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(on_their_way(), 1U);
  EXPECT_EQ(texts_in(on(0)), Texts{});
  EXPECT_TRUE(run(queues_->carry_on()).failed_with(ErrorCode::kServerBusy));
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(texts_in(on(1)), Texts{"late"});
  EXPECT_EQ(on_their_way(), 0U);
}

TEST_F(QueueShards, AMessageOnItsWayIsHeld) {
  const auto lease = put_and_take(on(0));
  const MessageName name{lease.message_id};
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->move(lease, {.to_queue = on(1)})));
  EXPECT_TRUE(queues_->holds("acc", {on(2), on(1)}, name).value_or(false));
  EXPECT_FALSE(queues_->holds("acc", {on(0), on(2)}, name).value_or(true));
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_TRUE(queues_->holds("acc", {on(1)}, name).value_or(false));
}

TEST_F(QueueShards, UpkeepTriesAgainSoon) {
  auto upkeep = start([](QueueService& queues) -> Task<bool> {
    co_await queues.keep_up(seconds(3600));
    co_return true;
  }(*queues_));
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->move(put_and_take(on(0), "late"), {.to_queue = on(1)})));
  advance(seconds(1));
  EXPECT_EQ(on_their_way(), 1U);
  engines_[1].refusing = false;
  advance(seconds(1));
  EXPECT_EQ(on_their_way(), 0U);
  EXPECT_EQ(texts_in(on(1)), Texts{"late"});
  queues_->begin_shutdown();
  EXPECT_TRUE(poll(upkeep).has_value());
}

TEST_F(QueueShards, UpkeepGoesOnWhileSomethingCannotBeCarried) {
  auto upkeep = start([](QueueService& queues) -> Task<bool> {
    co_await queues.keep_up(seconds(60));
    co_return true;
  }(*queues_));
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->move(put_and_take(on(0), "late"), {.to_queue = on(1)})));
  const auto before = kv::keys_under(engines_[2], "m").size();
  ASSERT_TRUE(run(queues_->put("acc", on(2), {.text = "short", .time_to_live = seconds(5)})));
  for (int i = 0; i < 60; ++i) advance(seconds(1));
  EXPECT_EQ(kv::keys_under(engines_[2], "m").size(), before);
  EXPECT_EQ(on_their_way(), 1U);
  queues_->begin_shutdown();
  EXPECT_TRUE(poll(upkeep).has_value());
}

TEST_F(QueueShards, ADeathBeforeItArrivesLosesNothing) {
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->move(put_and_take(on(0), "first"), {.to_queue = on(1)})));
  EXPECT_FALSE(run(queues_->finish(put_and_take(on(0)), {{on(1), {.text = "second"}}})));
  restart();
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(texts_in(on(1)), (Texts{"first", "second"})) << "in the order in which they departed";
  expect_sound();
}

TEST_F(QueueShards, ADeathAfterItArrivedDoublesNothing) {
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->move(put_and_take(on(0), "once"), {.to_queue = on(1)})));
  const auto rows = kv::keys_under(engines_[0], "x");
  ASSERT_EQ(rows.size(), 1U);
  const auto departure = engines_[0].get(rows[0]);
  ASSERT_TRUE(departure && *departure);
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->carry_on()));
  kv::put_row(engines_[0], rows[0], **departure);  // as if the process had died before it was erased
  restart();
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(texts_in(on(1)), Texts{"once"});
  EXPECT_EQ(on_their_way(), 0U);
}

/// With durability=os.
TEST_F(QueueShards, APowerCutThatTookADepartureAndLeftItsArrivalCostsNoLaterMessage) {
  ASSERT_TRUE(run(queues_->move(put_and_take(on(0), "before"), {.to_queue = on(1)})));
  const auto last = queue_keys::last_departed(1);
  const auto first_number = engines_[0].get(last);
  ASSERT_TRUE(first_number && *first_number);
  for (const auto* text : {"cut", "cut too"}) {
    ASSERT_TRUE(run(queues_->finish(put_and_take(on(0)), {{on(1), {.text = text}}})));
  }
  kv::put_row(engines_[0], last, **first_number);
  restart();
  ASSERT_TRUE(run(queues_->move(put_and_take(on(0), "moved"), {.to_queue = on(1)})));
  ASSERT_TRUE(run(queues_->finish(put_and_take(on(0)), {{on(1), {.text = "put"}}})));
  EXPECT_EQ(texts_in(on(1)), (Texts{"before", "cut", "cut too", "moved", "put"}));
  EXPECT_EQ(on_their_way(), 0U);
}

TEST_F(QueueShards, WhatComesForADeletedQueueIsGoneWithIt) {
  engines_[1].refusing = true;
  EXPECT_FALSE(run(queues_->finish(put_and_take(on(0)), {{on(1), {.text = "gone"}}})));
  engines_[1].refusing = false;
  ASSERT_TRUE(run(queues_->delete_queue("acc", on(1))));
  ASSERT_TRUE(run(queues_->carry_on()));
  EXPECT_EQ(on_their_way(), 0U);
  ASSERT_TRUE(run(queues_->create_queue("acc", on(1), {})));
  EXPECT_EQ(texts_in(on(1)), Texts{});
}

TEST_F(QueueShards, DamageOfADepartureIsFound) {
  kv::put_row(engines_[2], queue_keys::departed(0, 1), "garbage");
  kv::CheckRun check;
  EXPECT_TRUE(check_queues(engines_[2], check));
  EXPECT_EQ(check.report().found, 1U);
}

TEST(Placement, DependsOnItsKeyAndOnWhereParts) {
  const shards::Placement one(1024, {1}), other(1024, {2});
  EXPECT_NE(one.of({"acc", "queue"}), other.of({"acc", "queue"}));
  EXPECT_NE(one.of({"a", "bc"}), one.of({"ab", "c"}));
  EXPECT_EQ(shards::Placement().of({"acc", "queue"}), 0U);
}

/// Stored rows depend on it: it must never change.
TEST(Placement, StaysAsItIs) {
  const shards::Placement placement(4096, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16});
  EXPECT_EQ(placement.of({"acc", "queue"}), 1090U);
}

TEST(Placement, IsEven) {
  const shards::Placement placement(8, {7});
  std::array<int, 8> counts{};
  for (int i = 0; i < 8000; ++i) ++counts[placement.of({"acc", "queue-" + std::to_string(i)})];
  for (const auto count : counts) EXPECT_NEAR(count, 1000, 150);
}

}  // namespace
}  // namespace tidemark::queue_service
