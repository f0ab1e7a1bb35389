// The internal face: leases, moves, redrives, waiting.
#include "queue_service/storage/test_switches.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class QueueLease : public QueueTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(run(client_.ensure_queue("jobs")));
    ASSERT_TRUE(run(client_.ensure_queue("jobs")));
  }
  Message take(Duration visibility = seconds(30)) {
    auto got = run(client_.receive("jobs", visibility, Duration{}));
    EXPECT_TRUE(got && *got);
    return got && *got ? **got : Message{};
  }
  std::string put(const std::string& text, Duration delay = {}) {
    auto id = run(client_.put("jobs", text, delay));
    EXPECT_TRUE(id);
    return id.value_or("");
  }
  std::uint64_t count(const std::string& queue) { return run(client_.figures(queue))->messages; }
  Lease lease(const Message& message) { return {"jobs", message.id, message.epoch}; }
};

TEST_F(QueueLease, DeliversInOrderAndCompletes) {
  put("one");
  put("two");
  const auto one = take();
  EXPECT_EQ(one.text, "one");
  EXPECT_EQ(one.dequeue_count, 1U);
  EXPECT_EQ(one.epoch, 1U);
  EXPECT_EQ(one.expires, kNeverExpires);
  EXPECT_EQ(take().text, "two");
  EXPECT_EQ(count("jobs"), 2U);
  EXPECT_TRUE(run(client_.complete(lease(one))));
  EXPECT_EQ(count("jobs"), 1U);
  EXPECT_TRUE(run(client_.complete(lease(one))).failed_with(ErrorCode::kLeaseLost));
}

TEST_F(QueueLease, StaleLeaseCanDoNothing) {
  put("x");
  const auto first = take(seconds(10));
  advance(seconds(11));
  const auto second = take(seconds(10));
  ASSERT_EQ(second.id, first.id);
  EXPECT_EQ(second.epoch, 2U);
  EXPECT_TRUE(run(client_.renew(lease(first), seconds(5), std::nullopt)).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(run(client_.release(lease(first), {}, "", true)).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(
      run(client_.move(lease(first), {.to_queue = "poison", .annotation = ""})).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(run(client_.complete(lease(first))).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(run(client_.complete(lease(second))));
}

TEST_F(QueueLease, SwitchShowsThatEpochsBite) {
  put("x");
  const auto first = take(seconds(10));
  advance(seconds(11));
  take(seconds(10));
  test_switches::ignore_epoch = true;
  const auto done = run(client_.complete(lease(first)));
  test_switches::ignore_epoch = false;
  EXPECT_TRUE(done);
}

TEST_F(QueueLease, RenewalKeepsTheLeaseAndTheCheckpoint) {
  put("x");
  const auto message = take(seconds(10));
  for (int i = 0; i < 5; ++i) {
    advance(seconds(8));
    ASSERT_TRUE(run(client_.renew(lease(message), seconds(10), "checkpoint " + std::to_string(i))));
    EXPECT_FALSE(run(client_.receive("jobs", seconds(1), {})).value().has_value());
  }
  const auto listed = run(client_.list("jobs", 10, ""));
  ASSERT_TRUE(listed && listed->messages.size() == 1);
  EXPECT_EQ(listed->messages[0].annotation, "checkpoint 4");
  EXPECT_EQ(listed->messages[0].dequeue_count, 1U);
}

TEST_F(QueueLease, ReleaseGivesBackOnceWithOrWithoutTheAttempt) {
  put("x");
  auto message = take();
  ASSERT_TRUE(run(client_.release(lease(message), seconds(5), "failed once", true)));
  EXPECT_TRUE(run(client_.release(lease(message), {}, "", false)).failed_with(ErrorCode::kLeaseLost));
  EXPECT_FALSE(run(client_.receive("jobs", seconds(1), {})).value().has_value());
  advance(seconds(5));
  message = take();
  EXPECT_EQ(message.dequeue_count, 2U);
  EXPECT_EQ(message.annotation, "failed once");
  ASSERT_TRUE(run(client_.release(lease(message), {}, "throttled", false)));
  message = take();
  EXPECT_EQ(message.dequeue_count, 2U);
  EXPECT_EQ(message.epoch, 3U);
}

TEST_F(QueueLease, MoveAndRedriveKeepTheIdAndAreAtomic) {
  const auto id = put("body");
  const auto message = take();
  ASSERT_TRUE(run(client_.move(lease(message), {.to_queue = "jobs-poison", .annotation = "why"})));
  EXPECT_EQ(count("jobs"), 0U);
  EXPECT_EQ(count("jobs-poison"), 1U);
  EXPECT_TRUE(run(client_.list("jobs", 10, ""))->messages.empty());
  EXPECT_TRUE(*run(client_.find("jobs-poison", id)));
  const auto poison = run(client_.list("jobs-poison", 10, ""));
  ASSERT_TRUE(poison);
  ASSERT_EQ(poison->messages.size(), 1U);
  EXPECT_EQ(poison->messages[0].id, id);
  EXPECT_EQ(poison->messages[0].annotation, "why");
  EXPECT_EQ(poison->messages[0].dequeue_count, 1U);

  // A move into a queue with an invalid name leaves everything as it was.
  EXPECT_FALSE(run(client_.redrive("jobs-poison", id, "Bad_Name", std::nullopt, "")));
  EXPECT_EQ(count("jobs-poison"), 1U);
  ASSERT_TRUE(run(client_.redrive("jobs-poison", id, "jobs", "edited", "")));
  EXPECT_EQ(count("jobs-poison"), 0U);
  const auto again = take();
  EXPECT_EQ(again.id, id);
  EXPECT_EQ(again.text, "edited");
  EXPECT_EQ(again.annotation, "");
  EXPECT_EQ(again.dequeue_count, 1U);
  EXPECT_EQ(again.epoch, 2U);
  EXPECT_TRUE(run(client_.complete(lease(message))).failed_with(ErrorCode::kLeaseLost));
  EXPECT_TRUE(
      run(client_.redrive("jobs-poison", id, "jobs", std::nullopt, "")).failed_with(ErrorCode::kMessageNotFound));
}

TEST_F(QueueLease, OfTwoWhoEditAMessageTheSecondIsToldOfTheFirst) {
  const auto id = put("first");
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = "why"})));
  const auto seen = etag_of(**run(client_.find("jobs-poison", id)));
  const auto edit = [&](const char* text, const std::string& to) {
    return run(client_.redrive("jobs-poison", id, to, text, "why", {}, seen));
  };
  ASSERT_TRUE(edit("second", "jobs-poison"));
  EXPECT_TRUE(edit("third", "jobs-poison").failed_with(ErrorCode::kConditionNotMet));
  EXPECT_TRUE(edit("third", "jobs").failed_with(ErrorCode::kConditionNotMet));
  EXPECT_EQ((*run(client_.find("jobs-poison", id)))->text, "second");
}

TEST_F(QueueLease, TheTextThatBecamePoisonIsKeptThroughEditsAndRounds) {
  const auto id = put("first");
  const auto original = [&](const char* queue) { return run(client_.find(queue, id)).value()->original; };
  const auto edit = [&](const char* to) {
    return run(client_.redrive("jobs-poison", id, "jobs-poison", to, "")).has_value();
  };
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = ""})));
  EXPECT_EQ(original("jobs-poison"), std::nullopt) << "nobody has edited it";
  ASSERT_TRUE(edit("second") && edit("third"));
  EXPECT_EQ(original("jobs-poison"), "first");
  ASSERT_TRUE(run(client_.redrive("jobs-poison", id, "jobs", std::nullopt, "")));
  auto again = take();
  EXPECT_EQ(again.text, "third");
  EXPECT_EQ(again.original, "first") << "and its holder changes nothing about that";
  ASSERT_TRUE(run(client_.renew(lease(again), seconds(30), "note")));
  ASSERT_TRUE(run(client_.release(lease(again), {}, "note", true)));
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = ""})));
  ASSERT_TRUE(edit("fourth"));
  EXPECT_EQ(original("jobs-poison"), "first");
  ASSERT_TRUE(edit("first"));
  EXPECT_EQ(original("jobs-poison"), std::nullopt) << "it is that again";
}

TEST_F(QueueLease, RedrivenMessageIgnoresTheLeaseItHadBefore) {
  put("x");
  const auto message = take();
  ASSERT_TRUE(run(client_.move(lease(message), {.to_queue = "jobs-poison", .annotation = ""})));
  ASSERT_TRUE(run(client_.redrive("jobs-poison", message.id, "jobs", std::nullopt, "")));
  EXPECT_TRUE(run(client_.complete(lease(message))).failed_with(ErrorCode::kLeaseLost));
}

TEST_F(QueueLease, WaitEndsWithAPut) {
  auto waiting = start(client_.receive("jobs", seconds(30), seconds(30)));
  EXPECT_FALSE(poll(waiting));
  put("x");
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got && **got);
  EXPECT_EQ((**got)->text, "x");
}

TEST_F(QueueLease, WaitEndsWhenADelayPasses) {
  put("later", seconds(7));
  auto waiting = start(client_.receive("jobs", seconds(30), seconds(30)));
  put("sooner", seconds(3));
  advance(milliseconds(2999));
  EXPECT_FALSE(poll(waiting));
  advance(milliseconds(1));
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got && **got);
  EXPECT_EQ((**got)->text, "sooner");
}

TEST_F(QueueLease, WaitEndsWhenALeaseOfSomebodyElseRunsOut) {
  auto waiting = start(client_.receive("jobs", seconds(30), seconds(30)));
  auto other = start(client_.receive("jobs", seconds(5), seconds(30)));
  put("x");
  const bool first_got_it = waiting->has_value();
  EXPECT_NE(first_got_it, other->has_value());
  // The worker that got the message does nothing; the lease is 30 s or 5 s.
  advance(first_got_it ? seconds(29) : seconds(4));
  EXPECT_NE(waiting->has_value(), other->has_value());
  advance(seconds(1));
  EXPECT_TRUE(waiting->has_value() && other->has_value());
}

TEST_F(QueueLease, TwoWaitersGetOneMessageOnce) {
  auto a = start(client_.receive("jobs", seconds(60), seconds(10)));
  auto b = start(client_.receive("jobs", seconds(60), seconds(10)));
  put("x");
  EXPECT_NE(a->has_value(), b->has_value());
  advance(seconds(10));
  ASSERT_TRUE(a->has_value() && b->has_value());
  EXPECT_NE((*a)->value().has_value(), (*b)->value().has_value());
}

TEST_F(QueueLease, WaitTimesOutAndLeavesNoTimer) {
  auto waiting = start(client_.receive("jobs", seconds(30), seconds(2)));
  advance(seconds(2));
  auto got = poll(waiting);
  ASSERT_TRUE(got && *got);
  EXPECT_FALSE(**got);
  EXPECT_EQ(clock_.pending(), 0U);
}

TEST_F(QueueLease, WaitEndsWithDeletionAndShutdown) {
  auto waiting = start(client_.receive("jobs", seconds(30), seconds(20)));
  EXPECT_TRUE(run(service_.delete_queue("acc", "jobs")));
  auto got = poll(waiting);
  ASSERT_TRUE(got);
  EXPECT_TRUE(got->failed_with(ErrorCode::kQueueNotFound));
  ASSERT_TRUE(run(client_.ensure_queue("jobs")));
  waiting = start(client_.receive("jobs", seconds(30), seconds(20)));
  service_.begin_shutdown();
  got = poll(waiting);
  ASSERT_TRUE(got && *got);
  EXPECT_FALSE(**got);
}

TEST_F(QueueLease, ListPagesThroughEverything) {
  std::set<std::string> expected;
  for (int i = 0; i < 25; ++i)
    expected.insert(put("m" + std::to_string(i), i % 3 == 0 ? seconds(100 + i) : seconds(0)));
  take();
  std::set<std::string> seen;
  std::string continuation;
  do {
    auto page = run(client_.list("jobs", 7, continuation));
    ASSERT_TRUE(page);
    for (const auto& message : page->messages) EXPECT_TRUE(seen.insert(message.id).second);
    continuation = page->continuation;
  } while (!continuation.empty());
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(run(client_.list_queues("jo")).value(), std::vector<std::string>{"jobs"});
}

TEST_F(QueueLease, AnIdAloneNamesAMessageOfAPoisonQueue) {
  const auto id = put("x");
  EXPECT_TRUE(run(client_.find("jobs", id)).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(run(client_.remove("jobs", id)).failed_with(ErrorCode::kInvalidInput));
  EXPECT_TRUE(run(client_.redrive("jobs", id, "jobs-b", std::nullopt, "")).failed_with(ErrorCode::kInvalidInput));
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = ""})));
  EXPECT_TRUE(*run(client_.find("jobs-poison", id)));
  EXPECT_TRUE(run(client_.remove("jobs-poison", id)));
  EXPECT_TRUE(run(client_.remove("jobs-poison", id)).failed_with(ErrorCode::kMessageNotFound));
  EXPECT_EQ(count("jobs-poison"), 0U);
}

TEST_F(QueueLease, WhatIsDoneToAPoisonMessageThatWasSeenIsNotDoneOnceItHasComeBack) {
  const auto id = put("x");
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = ""})));
  const auto seen = run(client_.find("jobs-poison", id)).value()->epoch;
  ASSERT_TRUE(run(client_.redrive("jobs-poison", id, "jobs", std::nullopt, "", seen)));
  ASSERT_TRUE(run(client_.move(lease(take()), {.to_queue = "jobs-poison", .annotation = ""})));
  EXPECT_TRUE(run(client_.remove("jobs-poison", id, seen)).failed_with(ErrorCode::kMessageNotFound));
  EXPECT_TRUE(
      run(client_.redrive("jobs-poison", id, "jobs", std::nullopt, "", seen)).failed_with(ErrorCode::kMessageNotFound));
  EXPECT_EQ(count("jobs-poison"), 1U);
  EXPECT_TRUE(run(client_.remove("jobs-poison", id, seen + 1)));
}

TEST_F(QueueLease, MalformedPayloadIsRefused) {
  auto reply = run(transport_.call("queue.put", "\x03", {}));
  EXPECT_TRUE(reply.failed_with(ErrorCode::kInvalidInput));
  reply = run(transport_.call("queue.nonsense", "", {}));
  EXPECT_TRUE(reply.failed_with(ErrorCode::kNotImplemented));
}

}  // namespace
}  // namespace tidemark::queue_service
