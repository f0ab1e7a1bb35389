// Queues that are spread over several shards: to a client they are queues like any other.
#include <gmock/gmock.h>

#include "queue_service/client/queue_client.h"
#include "queue_service/internal/queue_dispatch.h"
#include "queue_service/storage/owner_calls.h"
#include "tests/unit/queue_spread_fixture.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

TEST(QueueParts, HaveNamesThatSayWhatTheyAre) {
  const QueuePart part{"jobs", 2, 8}, poison{"jobs-poison", 2, 8};
  EXPECT_EQ(part_name(part), "jobs#2.8");
  EXPECT_EQ(part_name(poison), "jobs#2.8-poison");
  EXPECT_EQ(poison_queue_of(part_name(part)), part_name(poison));
  EXPECT_EQ(part_in("jobs#2.8"), part);
  EXPECT_EQ(part_in("jobs#2.8-poison"), poison);
  EXPECT_EQ(whole_queue("jobs#2.8-poison"), "jobs-poison");
  for (const auto* name : {"jobs", "jobs-poison", "jobs#", "jobs#8.8", "jobs#2", "jobs#2.1", "jobs#-1.8", "jobs#2.8x",
                           "jobs#2.65", "#-poison", "x-poison#1.2y"}) {
    EXPECT_EQ(part_in(name), std::nullopt) << name;
    EXPECT_EQ(whole_queue(name), name);
  }
}

TEST(QueueParts, AreNamedByReceipts) {
  const Place place{Time(Ticks(123456789)), 42};
  const auto plain = to_receipt(place);
  const auto receipt = with_part(plain, {"jobs", 63, 64});
  EXPECT_EQ(from_receipt(receipt), place);
  EXPECT_EQ(part_of_receipt("jobs", receipt), (QueuePart{"jobs", 63, 64}));
  EXPECT_EQ(part_of_receipt("jobs", plain), std::nullopt);
  for (const auto& forged :
       {with_part(plain, {"", 64, 64}), with_part(plain, {"", 0, 1}), with_part(plain, {"", 0, 65}), receipt.substr(1),
        std::string(28, '!'), std::string(28, 'A')}) {
    EXPECT_EQ(part_of_receipt("jobs", forged), std::nullopt);
  }
  // The length is right, but there are more bytes than a place, or than a place and a part.
  EXPECT_EQ(from_receipt(std::string(24, 'A')), std::nullopt);
  EXPECT_EQ(from_receipt(std::string(28, 'A')), std::nullopt);
}

TEST_F(QueueSpread, OnlyLeasesNameParts) {
  rpc::Loopback link(make_queue_dispatch(*queues_));
  QueueClient client(link, "acc");
  put("text");
  const auto message = run(client.receive("spread", seconds(30), Duration::zero()));
  ASSERT_TRUE(message && *message);
  ASSERT_TRUE(is_part((*message)->part));
  for (const auto& name : {part_name({"spread", 0, kShards}), part_name({"spread-poison", 0, kShards}),
                           std::string("spread#"), std::string("absent#0.2")}) {
    const auto expect_refused = [&](const char* what, const auto& done) {
      EXPECT_TRUE(done.failed_with(ErrorCode::kInvalidResourceName)) << what << " " << name;
    };
    expect_refused("ensure", run(client.ensure_queue(name)));
    expect_refused("put", run(client.put(name, "text", Duration::zero())));
    expect_refused("receive", run(client.receive_some(name, seconds(1), 1)));
    expect_refused("list", run(client.list(name, 1, "")));
    expect_refused("find", run(client.find(name, "id")));
    expect_refused("remove", run(client.remove(name, "id")));
    expect_refused("redrive", run(client.redrive(name, "id", "spread", std::nullopt, "")));
    expect_refused("figures", run(client.figures(name)));
    expect_refused("pause", run(client.set_paused(name, true)));
    expect_refused("spread", run(client.set_parts(name, 2)));
  }
  const auto lease = queue_service::lease_of("spread", **message);
  EXPECT_TRUE(run(client.renew(lease, seconds(30), std::nullopt, 1)));
  EXPECT_TRUE(run(client.complete(lease)));
}

TEST_F(QueueSpread, HasItsMessagesOnAllShards) {
  for (int i = 0; i < 40; ++i) put("text " + std::to_string(i));
  std::set<std::size_t> shards;
  for (const auto& part : part_names("spread", kShards)) {
    const auto page = queues_->list("acc", part, 100, "");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->messages.size(), part == "spread" ? 40U : 10U) << part;
    if (part != "spread") shards.insert(queues_->shard_of("acc", part));
  }
  EXPECT_EQ(shards.size(), kShards);
  EXPECT_EQ(count(), 40U);

  const auto peeked = run(queues_->peek("acc", "spread", 32));
  ASSERT_TRUE(peeked);
  EXPECT_EQ(peeked->size(), 32U);
  EXPECT_TRUE(std::ranges::is_sorted(*peeked, {}, &Message::next_visible));
  auto taken = take(32);
  EXPECT_EQ(taken.size(), 32U);
  std::ranges::move(take(32), std::back_inserter(taken));
  EXPECT_EQ(texts_of(taken).size(), 40U) << "each once";
  EXPECT_TRUE(take(1).empty());
  expect_sound();
}

TEST_F(QueueSpread, ReceiptsWorkAsEver) {
  for (int i = 0; i < 8; ++i) put(std::to_string(i));
  for (const auto& each : take(8)) {
    auto kept = run(queues_->update(receipt_of(each), seconds(60), each.message.text + "!"));
    ASSERT_TRUE(kept);
    EXPECT_TRUE(run(queues_->erase(receipt_of(each))).failed_with(ErrorCode::kMessageNotFound)) << "it has another one";
    auto other = receipt_of(each);
    other.receipt = with_part(to_receipt({}), {"", 0, 3});
    EXPECT_TRUE(run(queues_->erase(other)).failed_with(ErrorCode::kMessageNotFound)) << "there is no such part";
    other.receipt = kept->receipt;
    EXPECT_TRUE(run(queues_->erase(other)));
  }
  EXPECT_EQ(count(), 0U);
  expect_sound();
}

TEST_F(QueueSpread, LeasesAreOfTheirPart) {
  put("text");
  const auto taken = take(1, "spread", true);
  ASSERT_EQ(taken.size(), 1U);
  ASSERT_TRUE(part_in(taken[0].message.part));
  EXPECT_TRUE(run(queues_->renew(lease_of(taken[0]), seconds(60), "note", 1)));
  EXPECT_TRUE(run(queues_->erase(lease_of(taken[0]))));
  EXPECT_TRUE(run(queues_->erase(lease_of(taken[0]))).failed_with(ErrorCode::kLeaseLost));
}

TEST_F(QueueSpread, AGroupKeepsItsOrderAndHasOneInFlight) {
  for (int i = 0; i < 5; ++i) {
    for (const auto* group : {"a", "b", "c"}) put(group + std::to_string(i), group);
  }
  for (int i = 0; i < 5; ++i) {
    const auto round = take(32);
    EXPECT_EQ(texts_of(round),
              (std::set<std::string>{"a" + std::to_string(i), "b" + std::to_string(i), "c" + std::to_string(i)}));
    for (const auto& each : round) ASSERT_TRUE(run(queues_->erase(receipt_of(each))));
  }
}

TEST_F(QueueSpread, AnIdempotencyKeyIsFoundAgain) {
  std::set<std::string> ids;
  for (int i = 0; i < 5; ++i) {
    const auto placed = run(queues_->put("acc", "spread", {.text = "once", .idempotency_key = "key"}));
    ASSERT_TRUE(placed);
    ids.insert(placed->id);
  }
  EXPECT_EQ(ids.size(), 1U);
  EXPECT_EQ(count(), 1U);
}

TEST_F(QueueSpread, WhatFailsTooOftenIsInThePoisonQueueAndGoesBack) {
  make("fragile", 3, {{std::string(kMaxDequeueCountName), "1"}});
  std::set<std::string> texts;
  for (int i = 0; i < 9; ++i) put(*texts.insert(std::to_string(i)).first, i < 3 ? "group" : "", "fragile");
  for (int round = 0; round < 12 && count("fragile") > 0; ++round) {
    take(32, "fragile");
    advance(seconds(31));
  }
  EXPECT_EQ(count("fragile"), 0U);
  EXPECT_EQ(count("fragile-poison"), 9U);
  EXPECT_EQ(on_their_way(), 0U);
  EXPECT_EQ(run(queues_->figures("acc", "fragile"))->poison, 9U);

  std::vector<Message> failed;
  std::string from;
  do {
    const auto page = queues_->list("acc", "fragile-poison", 2, from);
    ASSERT_TRUE(page);
    EXPECT_LE(page->messages.size(), 2U);
    std::ranges::copy(page->messages, std::back_inserter(failed));
    from = page->continuation;
  } while (!from.empty());
  ASSERT_EQ(failed.size(), 9U);
  EXPECT_NE(failed[0].annotation.find(R"("queue":"fragile")"), std::string::npos) << "not of a part";

  ASSERT_TRUE(run(queues_->remove("acc", "fragile-poison", failed.back().id)));
  EXPECT_TRUE(run(queues_->remove("acc", "fragile-poison", failed.back().id)).failed_with(ErrorCode::kMessageNotFound));
  failed.pop_back();
  for (const auto& message : failed) {
    const auto found = queues_->find("acc", "fragile-poison", message.id);
    ASSERT_TRUE(found && *found);
    EXPECT_EQ((*found)->text, message.text);
    ASSERT_TRUE(run(queues_->redrive("acc", "fragile-poison", message.id, {.to_queue = "fragile"})));
  }
  EXPECT_EQ(count("fragile"), 8U);
  EXPECT_EQ(count("fragile-poison"), 0U);
  expect_sound();
}

TEST_F(QueueSpread, AMessageThatItsHolderSetsAsideStaysOnItsShard) {
  for (int i = 0; i < 4; ++i) put("text");
  for (const auto& each : take(4, "spread", true)) {
    EXPECT_TRUE(run(queues_->move(lease_of(each), {.to_queue = "spread-poison"})));
  }
  EXPECT_EQ(count("spread-poison"), 4U);
  EXPECT_EQ(rows("x") + rows("s"), 0U) << "none travelled";
}

TEST_F(QueueSpread, MessagesComeFromOtherQueuesAndGoToThem) {
  for (int i = 0; i < 8; ++i) {
    ASSERT_TRUE(run(queues_->move(put_and_take(on(1), "moved " + std::to_string(i)), {.to_queue = "spread"})));
  }
  std::vector<FollowUp> next;
  for (int i = 0; i < 8; ++i) next.push_back({"spread", {.text = "next " + std::to_string(i), .group = "group"}});
  ASSERT_TRUE(run(queues_->finish(put_and_take(on(2)), next)));
  EXPECT_EQ(count(), 16U);
  EXPECT_TRUE(run(queues_->finish(put_and_take(on(2)), {{"spread#0.4", {.text = "no"}}}))
                  .failed_with(ErrorCode::kInvalidResourceName));
  auto taken = take(32);
  EXPECT_EQ(taken.size(), 9U) << "one of the group";
  ASSERT_TRUE(run(queues_->move(receipt_of(taken[0]), {.to_queue = on(3)})));
  ASSERT_TRUE(run(queues_->finish(receipt_of(taken[1]), {{on(3), {.text = "after"}}})));
  EXPECT_EQ(texts_in(on(3)).size(), 2U);
  EXPECT_EQ(on_their_way(), 0U);
  expect_sound();
}

TEST_F(QueueSpread, AMessageIsHeldAndWithdrawnByItsName) {
  const auto placed = run(queues_->put("acc", "spread", {.text = "text"}));
  ASSERT_TRUE(placed);
  const MessageName name{placed->id, placed->receipt};
  EXPECT_TRUE(queues_->holds("acc", {on(0), "spread"}, name).value_or(false));
  EXPECT_TRUE(run(queues_->withdraw("acc", {on(0), "spread"}, name)).value_or(false));
  EXPECT_FALSE(queues_->holds("acc", {on(0), "spread"}, name).value_or(true));
  EXPECT_EQ(count(), 0U);
}

TEST_F(QueueSpread, AReceiverIsWokenWhereverAMessageComes) {
  for (int i = 0; i < 5; ++i) {
    const auto waiting = start(queues_->get("acc", "spread", {.visibility = seconds(30)}, {.span = seconds(20)}));
    EXPECT_FALSE(waiting->has_value());
    put("come");
    const auto taken = poll(waiting);
    ASSERT_TRUE(taken && *taken && (*taken)->size() == 1);
    ASSERT_TRUE(run(queues_->erase(receipt_of((*taken)->front()))));
  }
  ASSERT_TRUE(run(queues_->put("acc", "spread", {.text = "late", .delay = seconds(5)})));
  const auto waiting = start(queues_->get("acc", "spread", {.visibility = seconds(30)}, {.span = seconds(20)}));
  advance(seconds(4));
  EXPECT_FALSE(waiting->has_value());
  advance(seconds(1));
  const auto taken = poll(waiting);
  ASSERT_TRUE(taken && *taken && (*taken)->size() == 1);
  EXPECT_EQ((*taken)->front().message.text, "late");
}

TEST_F(QueueSpread, AReceiverIsServedAfterAGetThatFoundSomethingInTheQueueItself) {
  make("before", 1);
  put("old", {}, "before");
  ASSERT_TRUE(run(queues_->patch_metadata("acc", "before", {{std::string(kPartsName), "4"}})));
  for (int i = 0; i < 3; ++i) put("new " + std::to_string(i), {}, "before");
  std::set<std::string> texts;
  for (int i = 0; i < 4; ++i) texts.merge(texts_of(take(1, "before")));
  EXPECT_EQ(texts, (std::set<std::string>{"old", "new 0", "new 1", "new 2"}));
}

class Owners : public shards::Peers {
 public:
  using Reply = Task<Result<std::optional<std::string>>>;
  MOCK_METHOD(bool, here, (std::size_t), (const, override));
  MOCK_METHOD(bool, leased, (std::size_t), (const, override));
  MOCK_METHOD(const std::string&, process, (), (const, override));
  MOCK_METHOD(bool, lives, (const std::string&), (const, override));
  MOCK_METHOD(Reply, forward, (shards::CallPlace, std::string, std::string), (override));
  MOCK_METHOD(Task<void>, tell_others, (std::string, std::string), (override));
};

Owners::Reply answered_by(const rpc::Dispatch& dispatch, std::string method, std::string payload) {
  co_return CO_TRY(co_await dispatch(std::move(method), std::move(payload)));
}

/// Other processes own the other parts.
TEST_F(QueueSpread, OneOfThoseWhoWaitAsksTheOtherOwners) {
  testing::NiceMock<Owners> owners;
  QueueService other(shards_, clock_, *random_);
  const auto dispatch = make_queue_dispatch(other);
  const auto home = queues_->shard_of("acc", "spread");
  int asked = 0;
  ON_CALL(owners, here).WillByDefault([&](std::size_t shard) { return shard == home; });
  ON_CALL(owners, forward).WillByDefault([&](shards::CallPlace, std::string method, std::string payload) {
    EXPECT_EQ(method, calls::Take::kMethod);
    ++asked;
    return answered_by(dispatch, std::move(method), std::move(payload));
  });
  auto shared = shards_;
  shared.peers = &owners;
  queues_ = std::make_unique<QueueService>(shared, clock_, *random_);
  using Waiting = decltype(start(queues_->get("acc", "spread", {}, {})));
  std::vector<Waiting> waiting;
  for (int i = 0; i < 10; ++i) {
    waiting.push_back(start(queues_->get("acc", "spread", {.visibility = seconds(30)}, {.span = seconds(20)})));
  }
  asked = 0;
  for (int i = 0; i < 5; ++i) advance(std::chrono::milliseconds(200));
  EXPECT_EQ(asked, 5 * 3) << "three parts are elsewhere";
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(run(other.put("acc", "spread#1.4", {.text = "come"})));
  advance(std::chrono::milliseconds(200));
  EXPECT_EQ(std::ranges::count_if(waiting, [](const auto& slot) { return slot->has_value(); }), 4);
  queues_->begin_shutdown();
  settle();
  queues_.reset();
}

TEST_F(QueueSpread, APausedOneGivesOutNothing) {
  put("text");
  ASSERT_TRUE(run(queues_->patch_metadata("acc", "spread", {{std::string(kPausedName), "true"}})));
  EXPECT_TRUE(take(1).empty());
  const auto waiting = start(queues_->get("acc", "spread", {.visibility = seconds(30)}, {.span = seconds(20)}));
  ASSERT_TRUE(run(queues_->patch_metadata("acc", "spread", {{std::string(kPausedName), ""}})));
  const auto taken = poll(waiting);
  ASSERT_TRUE(taken && *taken);
  EXPECT_EQ((*taken)->size(), 1U);
}

TEST_F(QueueSpread, PartsAreListedAndCountedAsTheirQueue) {
  for (int i = 0; i < 8; ++i) put("text");
  take(3);
  const auto figures = run(queues_->figures("acc", "spread"));
  ASSERT_TRUE(figures);
  EXPECT_EQ(figures->parts, kShards);
  EXPECT_EQ(figures->messages, 8U);
  EXPECT_EQ(figures->ready, 5U);
  EXPECT_EQ(figures->in_flight, 3U);
  EXPECT_EQ(figures->put, 8U);

  const auto listed = queues_->list_queues("acc", "spread", "", 100);
  ASSERT_TRUE(listed);
  ASSERT_EQ(listed->queues.size(), 2U);
  EXPECT_EQ(listed->queues[0].name, "spread");
  EXPECT_EQ(listed->queues[1].name, "spread-poison");
  const auto all = queues_->all_figures("acc", "", 100);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->queues.size(), kShards + 2);
  const auto found = std::ranges::find(all->queues, "spread", &FiguresPage::Item::queue);
  ASSERT_NE(found, all->queues.end());
  EXPECT_EQ(found->figures.in_flight, 3U);
}

TEST_F(QueueSpread, ClearEmptiesAllParts) {
  for (int i = 0; i < 8; ++i) put("text");
  take(2);
  ASSERT_TRUE(run(queues_->clear("acc", "spread")));
  EXPECT_EQ(count(), 0U);
  EXPECT_TRUE(take(32).empty());
  put("again");
  EXPECT_EQ(take(32).size(), 1U);
}

TEST_F(QueueSpread, IsDeletedWithItsPartsAndMadeAnew) {
  put("text");
  EXPECT_TRUE(run(queues_->delete_queue("acc", "spread-poison")).failed_with(ErrorCode::kInvalidInput));
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  EXPECT_TRUE(run(queues_->get_properties("acc", "spread")).failed_with(ErrorCode::kQueueNotFound));
  EXPECT_TRUE(run(queues_->put("acc", "spread", {.text = "x"})).failed_with(ErrorCode::kQueueNotFound));
  EXPECT_EQ(rows("b"), 0U);
  EXPECT_EQ(rows("q"), kShards + 1 + kShards) << "the poison queue stays, as ever, with its parts";

  auto other = run(queues_->create_queue("acc", "spread", {{std::string(kPartsName), "2"}}));
  EXPECT_TRUE(other.failed_with(ErrorCode::kInvalidMetadata)) << "its poison queue has four";
  make();
  EXPECT_EQ(count(), 0U);
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread-poison")));
  make("spread", 2);
  put("text");
  EXPECT_EQ(take(32).size(), 1U);
  expect_sound();
}

TEST_F(QueueSpread, MadeTwiceIsTheSame) {
  EXPECT_EQ(run(queues_->create_queue("acc", "spread", {{std::string(kPartsName), "4"}})).value(),
            CreateOutcome::kExistedAlready);
  EXPECT_TRUE(run(queues_->create_queue("acc", "spread", {{std::string(kPartsName), "3"}}))
                  .failed_with(ErrorCode::kQueueAlreadyExists));
  EXPECT_TRUE(run(queues_->create_queue("acc", "spread", {})).failed_with(ErrorCode::kQueueAlreadyExists));
  EXPECT_EQ(run(queues_->create_queue("acc", "spread-poison", {})).value(), CreateOutcome::kExistedAlready);
}

TEST_F(QueueSpread, StaysSpread) {
  ASSERT_TRUE(run(queues_->set_metadata("acc", "spread", {{"owner", "me"}})));
  const auto metadata = run(queues_->get_properties("acc", "spread"))->metadata;
  EXPECT_EQ(parts_in(metadata), kShards);
  EXPECT_EQ(metadata.size(), 2U);
  for (const auto* other : {"1", "3"}) {
    EXPECT_TRUE(run(queues_->set_metadata("acc", "spread", {{std::string(kPartsName), other}}))
                    .failed_with(ErrorCode::kInvalidMetadata));
  }
}

TEST_F(QueueSpread, CannotHaveMorePartsThanShards) {
  for (const auto* parts : {"5", "0", "many"}) {
    const auto made = run(queues_->create_queue("acc", "other", {{std::string(kPartsName), parts}}));
    EXPECT_TRUE(made.failed_with(ErrorCode::kInvalidMetadata)) << parts;
  }
  EXPECT_TRUE(run(queues_->create_queue("acc", "some-poison", {{std::string(kPartsName), "2"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
  EXPECT_TRUE(run(service_.create_queue("acc", "alone", {{std::string(kPartsName), "2"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
  EXPECT_TRUE(run(service_.create_queue("acc", "alone", {{std::string(kPartsName), "1"}})));
}

TEST_F(QueueSpread, AQueueIsSpreadWhileItHasMessages) {
  const auto& queue = on(2);
  for (int i = 0; i < 3; ++i) put("old " + std::to_string(i), {}, queue);
  const auto held = take(1, queue);
  ASSERT_TRUE(run(queues_->patch_metadata("acc", queue, {{std::string(kPartsName), "4"}})));
  for (int i = 0; i < 8; ++i) put("new " + std::to_string(i), {}, queue);
  EXPECT_EQ(count(queue), 11U);
  EXPECT_TRUE(run(queues_->erase(receipt_of(held[0], queue)))) << "a receipt from before";
  auto taken = take(32, queue);
  std::ranges::move(take(32, queue), std::back_inserter(taken));
  EXPECT_EQ(texts_of(taken).size(), 10U);
  expect_sound();
}

TEST_F(QueueSpread, NoQueueIsSpreadWhoseOrderOrKeysWouldBeLost) {
  put("text", "group", on(1));
  const Metadata spread{{std::string(kPartsName), "4"}};
  EXPECT_TRUE(run(queues_->patch_metadata("acc", on(1), spread)).failed_with(ErrorCode::kInvalidMetadata));
  ASSERT_TRUE(run(queues_->clear("acc", on(1))));
  EXPECT_TRUE(run(queues_->patch_metadata("acc", on(1), spread)));

  ASSERT_TRUE(run(queues_->put("acc", on(2), {.text = "text", .idempotency_key = "key"})));
  EXPECT_TRUE(run(queues_->patch_metadata("acc", on(2), spread)).failed_with(ErrorCode::kInvalidMetadata));
}

TEST_F(QueueSpread, ManyMayMakeItAtOnce) {
  const Metadata four{{std::string(kPartsName), "4"}};
  for (const auto later : {seconds(0), seconds(60)}) {
    const auto queue = "at-once-" + std::to_string(later.count());
    meanwhile((queues_->shard_of("acc", queue) + 1) % kShards, [&, queue, later](QueueService& queues) {
      clock_.advance(later);
      return queues.create_queue("acc", queue, four);
    });
    EXPECT_EQ(run(queues_->create_queue("acc", queue, four)).value_or(CreateOutcome::kCreated),
              CreateOutcome::kExistedAlready);
    put("text", {}, queue);
    EXPECT_EQ(count(queue), 1U);
  }
  EXPECT_EQ(rows("b"), 0U);
  expect_sound();
}

TEST_F(QueueSpread, ItsPoisonQueueCanBePausedHoweverLongItsName) {
  const std::string longest(56, 'q'), too_long(57, 'q');
  make(longest);
  ASSERT_TRUE(run(queues_->patch_metadata("acc", longest + "-poison", {{std::string(kPausedName), "true"}})));
  ASSERT_TRUE(run(queues_->set_metadata("acc", longest + "-poison", {{"owner", "me"}})));
  EXPECT_TRUE(run(queues_->create_queue("acc", too_long, {{std::string(kPartsName), "4"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
}

TEST_F(QueueSpread, IsMadeWholeOrNotAtAll) {
  const Metadata four{{std::string(kPartsName), "4"}};
  const auto shard = queues_->shard_of("acc", "halfway");
  engines_[(shard + 2) % kShards].refusing = true;
  EXPECT_FALSE(run(queues_->create_queue("acc", "halfway", four)));
  EXPECT_TRUE(run(queues_->get_properties("acc", "halfway")).failed_with(ErrorCode::kQueueNotFound));
  EXPECT_EQ(rows("b"), 1U);
  engines_[(shard + 2) % kShards].refusing = false;
  const auto before = rows("q");
  ASSERT_TRUE(run(queues_->upkeep()));
  EXPECT_EQ(rows("q"), before) << "somebody may be making it";
  advance(minutes(11));
  for (int round = 0; round < 2; ++round) ASSERT_TRUE(run(queues_->upkeep()));  // the note may be after a part
  EXPECT_EQ(rows("q"), before - 4) << "nobody does any more";
  EXPECT_EQ(rows("b"), 0U);

  engines_[(shard + 2) % kShards].refusing = true;
  EXPECT_FALSE(run(queues_->create_queue("acc", "halfway", four)));
  engines_[(shard + 2) % kShards].refusing = false;
  EXPECT_TRUE(run(queues_->create_queue("acc", "halfway", four))) << "whoever tries again goes on";
  expect_sound();
}

TEST_F(QueueSpread, ADeletionIsFinishedLaterIfAShardIsAway) {
  for (int i = 0; i < 8; ++i) put("text");
  const auto shard = queues_->shard_of("acc", "spread");
  auto& away = engines_[(shard + 3) % kShards];
  away.refusing = true;
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  EXPECT_TRUE(run(queues_->get_properties("acc", "spread")).failed_with(ErrorCode::kQueueNotFound));
  const Metadata four{{std::string(kPartsName), "4"}};
  EXPECT_FALSE(run(queues_->create_queue("acc", "spread", four))) << "with its old messages in one part";
  EXPECT_TRUE(run(queues_->create_queue("acc", "spread", {}))) << "one that is not spread has none of them";
  EXPECT_EQ(count(), 0U);
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  restart();
  away.refusing = false;
  advance(minutes(11));
  for (int round = 0; round < 2; ++round) ASSERT_TRUE(run(queues_->upkeep()));  // of notes, and of their queues
  EXPECT_EQ(rows("b"), 0U);
  EXPECT_EQ(rows("q"), kShards + 1 + kShards) << "the poison queue with its parts, and the others";
  expect_sound();
}

TEST_F(QueueSpread, OneThatIsMadeAnewHasNothingOfTheOneBefore) {
  for (int i = 0; i < 8; ++i) put("text");
  auto& away = engines_[(queues_->shard_of("acc", "spread") + 1) % kShards];
  away.refusing = true;
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  away.refusing = false;
  make();
  EXPECT_EQ(count(), 0U);
  EXPECT_TRUE(take(32).empty());
}

TEST_F(QueueSpread, WhatComesLateFromAnEarlierMakingChangesNothing) {
  for (int i = 0; i < 8; ++i) put("text");
  const auto part = part_name({"spread", 1, kShards});
  EXPECT_TRUE(run(queues_->drop_part("acc", part, 0)));
  EXPECT_TRUE(run(queues_->make_part("acc", part, 0, true)).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(count(), 8U);
}

TEST_F(QueueSpread, UpkeepLeavesWhatIsInUse) {
  for (int i = 0; i < 8; ++i) put("text");
  for (const auto& each : take(4, "spread", true)) {
    ASSERT_TRUE(run(queues_->move(lease_of(each), {.to_queue = "spread-poison"})));
  }
  ASSERT_TRUE(run(queues_->patch_metadata("acc", "spread", {{std::string(kPartsName), "4"}})));
  EXPECT_EQ(rows("b"), 0U) << "nothing is made again";
  advance(minutes(11));
  ASSERT_TRUE(run(queues_->upkeep()));
  EXPECT_EQ(count(), 4U);
  EXPECT_EQ(count("spread-poison"), 4U);
  // The poison queue stays with its messages when its queue is made anew.
  ASSERT_TRUE(run(queues_->delete_queue("acc", "spread")));
  make();
  put("text");
  advance(minutes(11));
  ASSERT_TRUE(run(queues_->upkeep()));
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(count("spread-poison"), 4U);
  expect_sound();
}

TEST_F(QueueSpread, GoesOnWhileAShardIsAway) {
  for (int i = 0; i < 8; ++i) put(std::to_string(i));
  auto& away = engines_[queues_->shard_of("acc", "spread#1.4")];
  away.refusing = true;
  EXPECT_EQ(take(32).size(), 6U);
  away.refusing = false;
  EXPECT_EQ(take(32).size(), 2U);
}

/// Random operations against the promises of every queue: a message is there until it is deleted, once; nobody else
/// gets it while it is held, nor another message of its group.
TEST_F(QueueSpread, KeepsItsPromisesWhateverHappens) {
  make("work", 3, {{std::string(kMaxDequeueCountName), "4"}});
  SeededRandom random(11);
  const auto chance = [&](std::uint64_t percent) { return random.next() % 100 < percent; };
  std::map<std::string, std::string> group_of;  // by text, for the existing messages
  struct Held {
    TakenMessage taken;
    bool leased = false;
    Time until;
  };
  std::map<std::string, Held> held;  // by text
  int number = 0;
  for (int step = 0; step < 6000; ++step) {
    if (chance(40)) {
      const auto group = chance(50) ? "group " + std::to_string(random.next() % 5) : std::string();
      const auto text = std::to_string(++number);
      put(text, group, "work");
      group_of[text] = group;
    } else if (chance(60)) {
      const bool leased = chance(50);
      for (auto& each : take(1 + static_cast<std::uint32_t>(random.next() % 5), "work", leased)) {
        const auto text = each.message.text;
        ASSERT_TRUE(group_of.contains(text)) << text << " was deleted, or is another one's";
        const auto before = held.find(text);
        ASSERT_TRUE(before == held.end() || before->second.until <= clock_.now()) << text << " is held";
        for (const auto& [other, by] : held) {
          ASSERT_FALSE(other != text && by.until > clock_.now() && !group_of[text].empty() &&
                       group_of[other] == group_of[text])
              << "two of a group are in flight";
        }
        held[text] = {std::move(each), leased, clock_.now() + seconds(30)};
      }
    } else if (chance(30)) {
      advance(seconds(10));
      std::erase_if(held, [&](const auto& entry) { return entry.second.until <= clock_.now(); });
    } else if (!held.empty()) {
      const auto at = std::next(held.begin(), static_cast<std::ptrdiff_t>(random.next() % held.size()));
      const auto text = at->first;
      const auto key =
          at->second.leased && chance(50) ? lease_of(at->second.taken) : receipt_of(at->second.taken, "work");
      if (chance(70)) {
        ASSERT_TRUE(run(queues_->erase(key))) << text;
        group_of.erase(text);
        held.erase(text);
      } else {
        ASSERT_TRUE(run(queues_->give_back(key))) << text;
        held.erase(at);
      }
    }
    if (step % 500 != 499) continue;
    // Somebody sends the messages in the poison queue back.
    for (const auto& message : queues_->list("acc", "work-poison", 1000, "")->messages) {
      ASSERT_TRUE(
          run(queues_->redrive("acc", "work-poison", message.id, {.to_queue = "work", .reset_dequeue_count = true})));
    }
    ASSERT_EQ(count("work"), group_of.size());
    ASSERT_TRUE(run(queues_->upkeep()));
    expect_sound();
  }
  EXPECT_GT(number, 1000);
}

}  // namespace
}  // namespace tidemark::queue_service
