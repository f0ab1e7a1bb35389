// The features of queues beyond Azure's: groups, idempotency keys, follow-ups, poison by count, pause, ordered
// renewals, offers, cancelled waits, upkeep and figures. Their public face: docs/queue-extensions.md and its test.
#include <nlohmann/json.hpp>

#include <map>

#include "common/base/bytes.h"
#include "queue_service/storage/arrivals.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class QueueExtensions : public QueueTest {
 protected:
  void SetUp() override { ASSERT_TRUE(run(service_.create_queue("acc", "jobs", {}))); }
  Placed put(std::string text, std::string group = {}, Duration delay = {}) {
    PutRequest request{.text = std::move(text), .delay = delay, .group = std::move(group)};
    auto placed = run(service_.put("acc", "jobs", std::move(request)));
    EXPECT_TRUE(placed);
    return placed.value_or(Placed{});
  }
  std::vector<TakenMessage> get(std::uint32_t count = 32, Duration visibility = seconds(30)) {
    auto got = run(service_.get("acc", "jobs", {.count = count, .visibility = visibility, .lease = true}, {}));
    EXPECT_TRUE(got);
    return got.value_or(std::vector<TakenMessage>{});
  }
  std::vector<std::string> texts(const std::vector<TakenMessage>& taken) {
    std::vector<std::string> out;
    for (const auto& each : taken) out.push_back(each.message.text);
    return out;
  }
  LeaseKey lease(const Message& message) { return {"acc", "jobs", message.id, message.epoch}; }
  QueueFigures figures(const std::string& queue = "jobs") {
    auto got = run(service_.figures("acc", queue));
    EXPECT_TRUE(got);
    return got.value_or(QueueFigures{});
  }
  std::size_t rows_of_kind(char kind) {
    std::size_t n = 0;
    const auto snapshot = engine_->snapshot();
    for (auto cursor = snapshot->scan({"m", "n"}); cursor->valid(); cursor->next()) n += cursor->key()[9] == kind;
    return n;
  }
  using Texts = std::vector<std::string>;
};

TEST_F(QueueExtensions, OneOfAGroupInFlightInTheOrderTheyCame) {
  put("a1", "a");
  put("a2", "a");
  put("b1", "b");
  put("a3", "a");
  put("plain");
  auto first = get();
  EXPECT_EQ(texts(first), (Texts{"a1", "b1", "plain"}));
  EXPECT_EQ(figures().waiting, 2U);
  EXPECT_TRUE(get().empty());
  // A lease that runs out gives the same message again, not the next.
  advance(seconds(31));
  auto second = get();
  EXPECT_EQ(texts(second), (Texts{"a1", "b1", "plain"}));
  ASSERT_TRUE(run(service_.erase(lease(second[0].message))));
  EXPECT_EQ(texts(get()), Texts{"a2"});
  ASSERT_TRUE(run(service_.erase(lease(second[1].message))));
  EXPECT_EQ(rows_of_kind('g'), 1U) << "a group ends with its last message";
}

TEST_F(QueueExtensions, WaitingMessagesKeepTheirReceiptsAndLetThemselvesBeChanged) {
  const auto head = put("a1", "a");
  const auto second = put("a2", "a");
  const auto third = put("a3", "a", seconds(100));
  auto updated = run(service_.update({"acc", "jobs", second.id, 0, second.receipt}, {}, "a2 new"));
  ASSERT_TRUE(updated);
  EXPECT_TRUE(
      run(service_.erase({"acc", "jobs", second.id, 0, second.receipt})).failed_with(ErrorCode::kMessageNotFound));
  ASSERT_TRUE(run(service_.erase({"acc", "jobs", head.id, 0, head.receipt})));
  // Its turn has come; the receipt of the update still names it.
  ASSERT_TRUE(run(service_.erase({"acc", "jobs", second.id, 0, updated->receipt})));
  EXPECT_TRUE(get().empty()) << "the third was put with a delay";
  EXPECT_EQ(figures().delayed, 1U);
  ASSERT_TRUE(run(service_.erase({"acc", "jobs", third.id, 0, third.receipt})));
  EXPECT_EQ(figures().messages, 0U);
}

TEST_F(QueueExtensions, ExpiredMessagesOfAGroupAreNotInTheWay) {
  put("a1", "a");
  for (int i = 0; i < 600; ++i) {
    PutRequest request{.text = "old", .time_to_live = seconds(10), .group = "a"};
    ASSERT_TRUE(run(service_.put("acc", "jobs", std::move(request))));
  }
  put("last", "a");
  auto first = get();
  ASSERT_EQ(first.size(), 1U);
  advance(seconds(11));
  ASSERT_TRUE(run(service_.erase(lease(first[0].message))));
  EXPECT_EQ(texts(get()), Texts{"last"});
  EXPECT_EQ(figures().messages, 1U);
}

TEST_F(QueueExtensions, AMessageThatExpiresInFlightLetsTheNextOfItsGroupFollow) {
  const PutRequest brief{.text = "brief", .time_to_live = seconds(10), .group = "a"};
  const auto keep = [](const TakenMessage&) {};
  const auto update = [&](const TakenMessage& taken) {
    EXPECT_TRUE(run(service_.update({"acc", "jobs", taken.message.id, 0, taken.receipt}, seconds(60), {})));
  };
  const auto renew = [&](const TakenMessage& taken) {
    EXPECT_TRUE(run(service_.renew(lease(taken.message), seconds(60), {}, 0)));
  };
  const auto release = [&](const TakenMessage& taken) {
    EXPECT_TRUE(run(service_.release(lease(taken.message), seconds(60), {}, true)));
  };
  for (const std::function<void(const TakenMessage&)>& hold :
       {std::function(keep), std::function(update), std::function(renew), std::function(release)}) {
    ASSERT_TRUE(run(service_.put("acc", "jobs", brief)));
    put("next", "a");
    const auto first = get(1, seconds(60));
    ASSERT_EQ(texts(first), Texts{"brief"});
    EXPECT_EQ(first[0].message.next_visible, first[0].message.expires);
    hold(first[0]);
    auto waiting =
        start(service_.get("acc", "jobs", {.visibility = seconds(30), .lease = true}, {.span = seconds(20)}));
    advance(seconds(10) - Ticks(1));
    EXPECT_FALSE(poll(waiting)) << "it is in flight";
    advance(Ticks(1));
    const auto next = poll(waiting);
    ASSERT_TRUE(next && *next);
    EXPECT_EQ(texts(**next), Texts{"next"});
    EXPECT_EQ(run(service_.erase(lease(first[0].message))).error().code, ErrorCode::kLeaseLost);
    ASSERT_TRUE(run(service_.erase(lease((**next)[0].message))));
  }
  PutRequest alone = brief;
  alone.group.clear();
  ASSERT_TRUE(run(service_.put("acc", "jobs", std::move(alone))));
  EXPECT_EQ(get(1, seconds(60)).at(0).message.next_visible, clock_.now() + seconds(60)) << "it holds nobody up";
}

TEST_F(QueueExtensions, OneIdempotencyKeyIsOneMessageUntilItIsForgotten) {
  const PutRequest once{.text = "x", .idempotency_key = "k", .retention = hours(1)};
  auto first = run(service_.put("acc", "jobs", once));
  auto again = run(service_.put("acc", "jobs", once));
  ASSERT_TRUE(first && again);
  EXPECT_EQ(first->id, again->id);
  EXPECT_EQ(first->receipt, again->receipt);
  EXPECT_EQ(figures().messages, 1U);
  auto other = once;
  other.text = "y";
  EXPECT_TRUE(run(service_.put("acc", "jobs", other)).failed_with(ErrorCode::kIdempotencyKeyReused));
  advance(hours(1));
  EXPECT_TRUE(run(service_.put("acc", "jobs", other)));
  EXPECT_EQ(figures().messages, 2U);
  EXPECT_EQ(rows_of_kind('a'), 1U);
  // Dead by age and never asked for again: upkeep removes them.
  advance(hours(2));
  ASSERT_TRUE(run(service_.upkeep()));
  EXPECT_EQ(rows_of_kind('a') + rows_of_kind('k'), 0U);
}

TEST_F(QueueExtensions, FinishIsAllOrNothing) {
  put("work");
  auto taken = get();
  ASSERT_EQ(taken.size(), 1U);
  std::vector<FollowUp> follow_ups{{"jobs", {.text = "next"}}, {"nowhere", {.text = "lost?"}}};
  EXPECT_TRUE(run(service_.finish(lease(taken[0].message), follow_ups)).failed_with(ErrorCode::kQueueNotFound));
  EXPECT_EQ(figures().messages, 1U);
  ASSERT_TRUE(run(service_.create_queue("acc", "nowhere", {})));
  auto placed = run(service_.finish(lease(taken[0].message), follow_ups));
  ASSERT_TRUE(placed);
  EXPECT_EQ(placed->size(), 2U);
  EXPECT_EQ(texts(get()), Texts{"next"});
  EXPECT_EQ(figures("nowhere").ready, 1U);
  EXPECT_TRUE(run(service_.finish(lease(taken[0].message), follow_ups)).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(
      run(service_.finish(lease(taken[0].message), std::vector<FollowUp>(33))).failed_with(ErrorCode::kInvalidInput));
}

TEST_F(QueueExtensions, TooManyAttemptsGoToThePoisonQueueWithTheirHistory) {
  ASSERT_TRUE(run(service_.set_metadata("acc", "jobs", {{"tidemark_max_dequeue_count", "2"}})));
  const auto bad = put("bad", "g");
  const auto behind = put("behind", "g");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(texts(get()), Texts{"bad"});
    advance(seconds(31));
  }
  auto third = get();
  EXPECT_EQ(texts(third), Texts{"behind"}) << "the group goes on";
  EXPECT_EQ(figures().poison, 1U);
  EXPECT_EQ(figures().moved, 1U);
  auto found = service_.find("acc", "jobs-poison", bad.id);
  ASSERT_TRUE(found && *found);
  const auto note = nlohmann::json::parse((*found)->annotation);
  EXPECT_EQ(note["reason"], "max_dequeue_count");
  EXPECT_EQ(note["queue"], "jobs");
  EXPECT_EQ(note["dequeueCount"], 2);
  EXPECT_EQ(note["deliveries"].size(), 2U);
  EXPECT_EQ((*found)->group, "g");
  // The move back has a reason of its own; the attempts start again, at the end of the group.
  MoveRequest back{.to_queue = "jobs", .reason = "repaired", .reset_dequeue_count = true};
  ASSERT_TRUE(run(service_.redrive("acc", "jobs-poison", bad.id, std::move(back))));
  EXPECT_TRUE(get().empty());
  ASSERT_TRUE(run(service_.erase({"acc", "jobs", behind.id, third[0].message.epoch})));
  auto again = get();
  ASSERT_EQ(texts(again), Texts{"bad"});
  EXPECT_EQ(again[0].message.dequeue_count, 1U);
}

TEST_F(QueueExtensions, OptionsAreCheckedAndPatched) {
  EXPECT_TRUE(run(service_.set_metadata("acc", "jobs", {{"tidemark_max_dequeue_count", "x"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
  EXPECT_TRUE(run(service_.set_metadata("acc", "jobs", {{"Tidemark_Paused", "perhaps"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
  const std::string longest(57, 'q');
  EXPECT_TRUE(run(service_.create_queue("acc", longest, {{"tidemark_max_dequeue_count", "3"}}))
                  .failed_with(ErrorCode::kInvalidMetadata));
  ASSERT_TRUE(run(service_.set_metadata("acc", "jobs", {{"owner", "me"}})));
  ASSERT_TRUE(run(service_.patch_metadata("acc", "jobs", {{"tidemark_paused", "true"}})));
  EXPECT_EQ(run(service_.get_properties("acc", "jobs"))->metadata.size(), 2U);
  ASSERT_TRUE(run(service_.patch_metadata("acc", "jobs", {{"tidemark_paused", ""}})));
  EXPECT_EQ(run(service_.get_properties("acc", "jobs"))->metadata, (Metadata{{"owner", "me"}}));
}

TEST_F(QueueExtensions, PausedQueueGivesOutNothingUntilItIsResumed) {
  put("held");
  const auto in_flight = get(1);
  put("later");
  ASSERT_TRUE(run(client_.set_paused("jobs", true)));
  EXPECT_TRUE(figures().paused);
  EXPECT_TRUE(get().empty());
  EXPECT_EQ(run(service_.peek("acc", "jobs", 1))->size(), 1U);
  EXPECT_TRUE(run(service_.erase(lease(in_flight[0].message))));
  auto waiting = start(service_.get("acc", "jobs", {1, seconds(30)}, {seconds(20), ""}));
  EXPECT_FALSE(waiting->has_value());
  ASSERT_TRUE(run(client_.set_paused("jobs", false)));
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(texts(**got), Texts{"later"});
}

TEST_F(QueueExtensions, ARenewalThatWasOvertakenChangesNothing) {
  put("x");
  const auto taken = get();
  const auto held = lease(taken[0].message);
  ASSERT_TRUE(run(service_.renew(held, seconds(30), "checkpoint 2", 2)));
  EXPECT_TRUE(run(service_.renew(held, seconds(30), "checkpoint 1", 1)).failed_with(ErrorCode::kFenced));
  ASSERT_TRUE(run(service_.renew(held, seconds(30), "checkpoint 2", 2))) << "the same one again is no other";
  EXPECT_EQ(service_.list("acc", "jobs", 1, "")->messages[0].annotation, "checkpoint 2");
  // The next delivery counts from the beginning.
  advance(seconds(31));
  const auto next = get();
  ASSERT_TRUE(run(service_.renew(lease(next[0].message), seconds(30), "checkpoint 3", 1)));
}

TEST_F(QueueExtensions, AnOfferThatNobodyConfirmedIsNoAttempt) {
  put("x");
  const TakeRequest offer{.count = 1, .visibility = seconds(1), .offer = true, .lease = true};
  for (std::uint64_t epoch = 1; epoch <= 3; ++epoch) {
    auto offered = run(service_.get("acc", "jobs", offer, {}));
    ASSERT_TRUE(offered && offered->size() == 1);
    EXPECT_EQ(offered->front().message.dequeue_count, 1U);
    EXPECT_EQ(offered->front().message.epoch, epoch);
    advance(seconds(2));
  }
  auto offered = run(service_.get("acc", "jobs", offer, {}));
  ASSERT_TRUE(run(service_.renew(lease(offered->front().message), seconds(5), std::nullopt, 0)));
  advance(seconds(6));
  EXPECT_EQ(get()[0].message.dequeue_count, 2U);
}

TEST_F(QueueExtensions, AReplyThatCouldNotBeDeliveredGivesItsMessagesBack) {
  ASSERT_TRUE(run(client_.ensure_queue("work")));
  for (const char* text : {"x", "y", "z"}) ASSERT_TRUE(run(client_.put("work", text, Duration{})));
  const calls::Receive receive{
      .account = "acc", .queue = "work", .visibility = seconds(30), .wait = {}, .token = "", .count = 2};
  const auto request = wire::encode(receive);
  const auto dispatch = make_queue_dispatch(service_);
  auto reply = run(dispatch("queue.receive", request));
  ASSERT_TRUE(reply);
  const auto hook = make_undelivered_hook(make_queue_dispatch(service_));
  asio::co_spawn(io_, hook.run(request, *reply), asio::detached);
  settle();
  auto got = run(client_.receive_some("work", seconds(30), 32));
  ASSERT_TRUE(got);
  std::map<std::string, std::uint64_t> epochs;
  for (const auto& message : *got) {
    EXPECT_EQ(message.dequeue_count, 1U);
    epochs[message.text] = message.epoch;
  }
  EXPECT_EQ(epochs, (std::map<std::string, std::uint64_t>{{"x", 2}, {"y", 2}, {"z", 1}}));
}

TEST_F(QueueExtensions, SomeAreTakenInOrderAndNoMoreThanAsked) {
  for (const char* text : {"x", "y", "z"}) put(text);
  auto some = run(client_.receive_some("jobs", seconds(30), 2));
  ASSERT_TRUE(some && some->size() == 2);
  EXPECT_EQ((*some)[0].text, "x");
  EXPECT_EQ((*some)[1].text, "y");
  auto rest = run(client_.receive_some("jobs", seconds(30), 2));
  ASSERT_TRUE(rest && rest->size() == 1);
  EXPECT_EQ(run(client_.receive_some("jobs", seconds(30), 2))->size(), 0U);
}

TEST_F(QueueExtensions, WaitsEndWhenTheirClientStops) {
  QueueClient mine(transport_, "acc", "worker-7");
  ASSERT_TRUE(run(mine.ensure_queue("jobs")));
  auto waiting = start(mine.receive("jobs", seconds(30), seconds(20)));
  auto other = start(client_.receive("jobs", seconds(30), seconds(20)));
  EXPECT_EQ(service_.waiters(), 2U);
  asio::co_spawn(io_, mine.end_waits(), asio::detached);
  settle();
  auto ended = poll(waiting);
  ASSERT_TRUE(ended && *ended);
  EXPECT_FALSE((*ended)->has_value());
  EXPECT_FALSE(other->has_value());
  auto later = run(mine.receive("jobs", seconds(30), seconds(20)));
  EXPECT_TRUE(later && !later->has_value()) << "it does not wait any more";
  // A cancellation that overtakes its wait counts.
  service_.cancel_wait("early");
  auto early = run(service_.get("acc", "jobs", {1, seconds(30)}, {seconds(20), "early"}));
  EXPECT_TRUE(early && early->empty());
  service_.begin_shutdown();
  settle();
}

TEST_F(QueueExtensions, AWaiterWhoIsGoneTakesNothing) {
  WaitRequest left{.span = seconds(20), .gone = [] { return true; }};
  auto abandoned = start(service_.get("acc", "jobs", {.count = 1, .visibility = seconds(30)}, std::move(left)));
  auto waiting = start(service_.get("acc", "jobs", {.count = 1, .visibility = seconds(30)}, {.span = seconds(20)}));
  put("x");
  auto nothing = poll(abandoned);
  ASSERT_TRUE(nothing && *nothing);
  EXPECT_TRUE((*nothing)->empty());
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got && (*got)->size() == 1) << "the message passed the other waiter by";
  EXPECT_EQ((*got)->front().message.epoch, 1U);
}

TEST_F(QueueExtensions, AGetAfterOneThatFoundSomethingMayFindNothing) {
  put("x");
  EXPECT_EQ(get().size(), 1U);
  const auto before = figures();
  EXPECT_TRUE(get().empty());
  EXPECT_EQ(figures().taken, before.taken);
  // A wait after a message also ends with the next message, and not before.
  put("y");
  EXPECT_EQ(get().size(), 1U);
  auto waiting = start(service_.get("acc", "jobs", {.count = 1, .visibility = seconds(30)}, {.span = seconds(20)}));
  EXPECT_FALSE(waiting->has_value());
  put("z");
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got);
  EXPECT_EQ(texts(**got), Texts{"z"});
}

TEST_F(QueueExtensions, WaitersAreBounded) {
  QueueService small(*engine_, clock_, *random_, ServiceLimits{.max_waiters = 1});
  auto waiting = start(small.get("acc", "jobs", {1, seconds(30)}, {seconds(20), ""}));
  EXPECT_TRUE(run(small.get("acc", "jobs", {1, seconds(30)}, {seconds(20), ""})).failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(run(small.get("acc", "jobs", {1, seconds(30)}, {})));
  small.begin_shutdown();
  EXPECT_TRUE(poll(waiting).has_value());
}

TEST_F(QueueExtensions, UpkeepDropsExpiredMessagesBehindLivingOnes) {
  put("living");
  for (int i = 0; i < 600; ++i) {
    ASSERT_TRUE(
        run(service_.put("acc", "jobs", {.text = "old", .delay = seconds(i % 2 * 5), .time_to_live = seconds(10)})));
  }
  advance(seconds(11));
  EXPECT_EQ(figures().messages, 601U);
  ASSERT_TRUE(run(service_.upkeep()));
  const auto after = figures();
  EXPECT_EQ(after.messages, 1U);
  EXPECT_EQ(after.expired, 600U);
  EXPECT_EQ(rows_of_kind('r') + rows_of_kind('t'), 1U);
}

TEST_F(QueueExtensions, UpkeepOfALongQueueLetsOthersGoOn) {
  for (int i = 0; i < 3000; ++i) put("living");
  ASSERT_TRUE(run(service_.put("acc", "jobs", {.text = "old", .time_to_live = seconds(10)})));
  advance(seconds(11));
  bool done = false;
  int between = 0;
  asio::co_spawn(io_, service_.upkeep(), [&](std::exception_ptr, const Result<void>& outcome) {
    EXPECT_TRUE(outcome);
    done = true;
  });
  io_.restart();
  std::function<void()> other = [&] {
    if (done) return;
    ++between;
    asio::post(io_, other);
  };
  asio::post(io_, other);
  while (!done && io_.run_one() > 0) {
  }
  EXPECT_GE(between, 3) << "the walk over the queue held its thread to the end";
  EXPECT_EQ(figures().messages, 3000U);
  EXPECT_EQ(figures().expired, 1U);
}

TEST_F(QueueExtensions, QueuesThatAreWaitedAtNoMoreAreForgotten) {
  Arrivals arrivals(clock_);
  const auto held = arrivals.open("acc", "held");
  for (int i = 0; i < 10000; ++i) arrivals.open("acc", "q" + std::to_string(i));
  EXPECT_LE(arrivals.remembered(), 64U);
  EXPECT_EQ(arrivals.open("acc", "held"), held);
}

TEST_F(QueueExtensions, FiguresSayWhatTheClockHasMadeOfTheSets) {
  for (int i = 0; i < 3; ++i) put("ready");
  for (int i = 0; i < 2; ++i) put("delayed", {}, seconds(60));
  get(1, seconds(10));
  auto now = figures();
  EXPECT_EQ(now.ready, 2U);
  EXPECT_EQ(now.in_flight, 1U);
  EXPECT_EQ(now.delayed, 2U);
  EXPECT_EQ(now.put, 5U);
  EXPECT_EQ(now.taken, 1U);
  advance(seconds(11));
  now = figures();
  EXPECT_EQ(now.ready, 3U);
  EXPECT_EQ(now.in_flight, 0U);
  EXPECT_EQ(now.oldest, Duration(seconds(11)));
  EXPECT_EQ(now.messages, 5U);
  advance(seconds(50));
  EXPECT_EQ(figures().ready, 5U);
  EXPECT_NEAR(figures().in_rate, 0, 0.001) << "nothing has come since the first sighting";
  put("another");
  EXPECT_GT(figures().in_rate, 0);
}

TEST_F(QueueExtensions, MoreDueMessagesThanACountReadsAreCountedAllTheSame) {
  constexpr std::uint64_t kMany = 12000;
  for (std::uint64_t i = 0; i < kMany; ++i) put("d", {}, seconds(1));
  advance(seconds(2));
  const auto all = figures();
  EXPECT_EQ(all.ready, kMany);
  EXPECT_EQ(all.delayed, 0U);
  EXPECT_EQ(texts(get(1)), Texts{"d"});
}

TEST_F(QueueExtensions, FiguresOfAllQueuesComePageByPage) {
  for (const char* name : {"aaa", "bbb", "jobs-poison"}) ASSERT_TRUE(run(service_.create_queue("acc", name, {})));
  std::vector<std::string> names;
  std::string from;
  do {
    auto page = service_.all_figures("acc", from, 2);
    ASSERT_TRUE(page);
    for (const auto& item : page->queues) names.push_back(item.queue);
    from = page->next;
  } while (!from.empty());
  EXPECT_EQ(names, (Texts{"aaa", "bbb", "jobs", "jobs-poison"}));
  names.clear();
  do {
    auto remote = run(client_.all_figures(3, from));
    ASSERT_TRUE(remote);
    for (const auto& [name, figures] : remote->queues) names.push_back(name);
    from = remote->continuation;
  } while (!from.empty());
  EXPECT_EQ(names, (Texts{"aaa", "bbb", "jobs", "jobs-poison"}));
}

TEST_F(QueueExtensions, AContinuationOfFiguresStaysInItsAccount) {
  ASSERT_TRUE(run(service_.create_queue("zzz", "theirs", {})));
  auto page = run(client_.all_figures(10, "jobz"));
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->queues.empty());
  EXPECT_TRUE(page->continuation.empty());
  page = run(client_.all_figures(10, std::string("a\0\xff/", 4)));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->queues.size(), 1U);
}

TEST_F(QueueExtensions, ListShowsWaitingMessagesToo) {
  for (int i = 0; i < 7; ++i) put("m" + std::to_string(i), "g");
  Texts seen;
  std::string continuation;
  do {
    auto page = service_.list("acc", "jobs", 2, continuation);
    ASSERT_TRUE(page);
    for (const auto& message : page->messages) seen.push_back(message.text);
    continuation = page->continuation;
  } while (!continuation.empty());
  EXPECT_EQ(seen, (Texts{"m0", "m1", "m2", "m3", "m4", "m5", "m6"}));
  EXPECT_TRUE(service_.list("acc", "jobs", 2, "wAAAA").failed_with(ErrorCode::kInvalidMarker));
}

}  // namespace
}  // namespace tidemark::queue_service
