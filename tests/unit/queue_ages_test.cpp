// A wall clock that is set, names that find a message wherever it is, and upkeep that trouble in one queue does not
// stop.
#include "common/kv/age_clock.h"
#include "queue_service/storage/queue_keys.h"
#include "queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

class QueueAges : public QueueTest {
 protected:
  void SetUp() override {
    for (const auto* queue : {"jobs", "other", "jobs-poison"}) {
      ASSERT_TRUE(run(service_.create_queue("acc", queue, {})).has_value());
    }
  }
  MessageName put(const std::string& queue = "jobs", Duration delay = {}) {
    auto put = run(client_.put_named(queue, {.text = "text", .delay = delay}));
    EXPECT_TRUE(put.has_value());
    return put ? *put : MessageName{};
  }
  bool holds(const MessageName& name, std::vector<std::string> queues = {"jobs", "missing", "jobs-poison"}) {
    return *run(client_.holds(std::move(queues), name));
  }
  bool withdraw(const MessageName& name) { return *run(client_.withdraw({"missing", "jobs"}, name)); }
  Message take() {
    auto taken = run(client_.receive("jobs", seconds(30), Duration::zero()));
    EXPECT_TRUE(taken && *taken);
    return taken && *taken ? **taken : Message{};
  }
  std::uint64_t messages(const std::string& queue) { return run(client_.figures(queue))->messages; }
};

TEST_F(QueueAges, AMessageIsFoundWhereverItIs) {
  const auto ready = put();
  const auto delayed = put("jobs", hours(24));
  EXPECT_TRUE(holds(ready));
  EXPECT_TRUE(holds(delayed));
  EXPECT_FALSE(holds(ready, {"other"}));
  auto taken = take();
  ASSERT_EQ(taken.id, ready.id);
  EXPECT_TRUE(holds(ready)) << "in flight";
  ASSERT_TRUE(run(client_.release({"jobs", taken.id, taken.epoch}, hours(1), "", false)).has_value());
  EXPECT_TRUE(holds(ready)) << "given back with a delay";
  advance(hours(2));
  taken = take();
  ASSERT_TRUE(
      run(client_.move({"jobs", taken.id, taken.epoch}, {.to_queue = "jobs-poison", .annotation = ""})).has_value());
  EXPECT_TRUE(holds(ready)) << "given up";
  ASSERT_TRUE(run(client_.redrive("jobs-poison", ready.id, "jobs", std::nullopt, "")).has_value());
  EXPECT_TRUE(holds(ready)) << "sent back and not delivered since";
  taken = take();
  ASSERT_TRUE(run(client_.complete({"jobs", taken.id, taken.epoch})).has_value());
  EXPECT_FALSE(holds(ready));
  EXPECT_TRUE(holds(delayed));
}

TEST_F(QueueAges, AMessageIsWithdrawnUnlessSomebodyHasIt) {
  const auto first = put();
  const auto delayed = put("jobs", hours(24));
  const auto taken = take();
  ASSERT_EQ(taken.id, first.id);
  EXPECT_FALSE(withdraw(first)) << "in flight";
  EXPECT_TRUE(withdraw(delayed));
  EXPECT_FALSE(withdraw(delayed));
  EXPECT_EQ(messages("jobs"), 1U);
  advance(seconds(31));
  EXPECT_TRUE(withdraw(first)) << "its holder lost it";
  EXPECT_TRUE(run(client_.complete({"jobs", taken.id, taken.epoch})).failed_with(ErrorCode::kLeaseLost));
  EXPECT_EQ(messages("jobs"), 0U);
}

TEST_F(QueueAges, AClockSetForwardExpiresNothingAtOnce) {
  kv::AgeClock ages(*engine_, clock_);
  QueueService service(*engine_, clock_, *random_, {}, &ages);
  ASSERT_TRUE(run(service.put("acc", "jobs", {.text = "a week", .time_to_live = hours(24 * 7)})).has_value());
  ASSERT_TRUE(run(service.put("acc", "jobs", {.text = "b", .delay = hours(1)})).has_value());
  const PutRequest keyed{.text = "c", .idempotency_key = "k", .retention = hours(24)};
  const auto first = run(service.put("acc", "other", keyed));
  advance(hours(1));
  clock_.jump(hours(24 * 30));
  ASSERT_TRUE(run(service.upkeep()).has_value());
  EXPECT_EQ(run(service.peek("acc", "jobs", 32))->size(), 2U) << "delays end by the wall clock";
  EXPECT_EQ(run(service.put("acc", "other", keyed))->id, first->id);
  const auto taken = run(service.get("acc", "jobs", {.count = 2, .visibility = seconds(30)}, {}));
  ASSERT_TRUE(taken.has_value());
  EXPECT_EQ(taken->size(), 2U);
  // Everything is old once the time has passed, at twice the speed until the clock is believed.
  for (int hour = 0; hour < 24 * 4; ++hour) {
    advance(hours(1));
    ASSERT_TRUE(run(ages.keep()).has_value());
  }
  ASSERT_TRUE(run(service.upkeep()).has_value());
  EXPECT_EQ(messages("jobs"), 1U);
  EXPECT_NE(run(service.put("acc", "other", keyed))->id, first->id);
}

TEST_F(QueueAges, TroubleInOneQueueDoesNotStopTheUpkeepOfOthers) {
  for (const auto* queue : {"jobs", "other"}) {
    ASSERT_TRUE(run(service_.put("acc", queue, {.text = "old", .time_to_live = seconds(10)})).has_value());
  }
  const auto damaged = run(engine_->transact([](kv::Transaction& txn) -> Result<void> {
    txn.put(queue_keys::queue("acc", "aaa"), "damaged");
    return {};
  }));
  ASSERT_TRUE(damaged.has_value());
  advance(seconds(11));
  EXPECT_TRUE(run(service_.upkeep()).failed_with(ErrorCode::kCorruption)) << "it is told";
  EXPECT_EQ(messages("jobs"), 0U);
  EXPECT_EQ(messages("other"), 0U);
}

}  // namespace
}  // namespace tidemark::queue_service
