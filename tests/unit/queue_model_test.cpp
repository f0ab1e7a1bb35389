// Rules of queues and receipts that one small case shows each; queue_property_test.cpp has the random walks.
#include <boost/asio/detached.hpp>

#include "common/base/encoding.h"
#include "queue_service/storage/queue_records.h"
#include "tests/support/standing_clock.h"
#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::seconds;

TEST(QueueRecords, StoredBytesStayAsTheyAre) {
  QueueRecord queue;
  queue.generation = 8;
  queue.created = Time(Ticks(99));
  queue.options.max_dequeue_count = 300;
  queue.options.paused = true;
  queue.metadata = {{"a", "b"}};
  EXPECT_EQ(hex_encode(kQueueRecord.encode(queue)),
            "0208000000000000006300000000000000ac02010101610162"
            "00");
  FiguresRecord figures{1, 2, 3, 4, 500, Time(Ticks(5)), {Time(Ticks(50)), 3}, {Time(Ticks(60)), 4}};
  figures.put = 6;
  figures.expired = 1000;
  EXPECT_EQ(hex_encode(kFiguresRecord.encode(figures)),
            "0201020304f40306000000e80705000000000000008029e9fb7fa82a238029e9fb7fa82a23"
            "00000000000000320000000000000003000000000000003c0000000000000004");
  EXPECT_EQ(*kFiguresRecord.decode(kFiguresRecord.encode(figures)), figures);
  const Place place{Time(Ticks(7)), 8};
  EXPECT_EQ(hex_encode(kIdRecord.encode({Set::kWaiting, place, "grp"})),
            "02770000000000000007000000000000000803677270");
  EXPECT_EQ(hex_encode(kGroupRecord.encode({300, 4})), "02ac0204");
  EXPECT_EQ(
      hex_encode(kIdempotencyRecord.encode({"id", "hash", place, Time(Ticks(1)), Time(Ticks(2)), Time(Ticks(3))})),
      "02026964046861736800000000000000070000000000000008010000000000000002000000000000000300000000000000");
}

TEST_F(QueueTest, ClearAndDeleteLeaveNoRowsBehind) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "x"})));
  ASSERT_TRUE(run(service_.clear("acc", "q-1")));
  ASSERT_TRUE(run(service_.delete_queue("acc", "q-1")));
  settle();
  const auto snapshot = engine_->snapshot();
  for (auto cursor = snapshot->scan({"", ""}); cursor->valid(); cursor->next()) {
    EXPECT_EQ(cursor->key(), "n");
  }
}

TEST_F(QueueTest, ReceiptsFitOneMessageOnly) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  auto a = run(service_.put("acc", "q-1", {.text = "a"}));
  auto b = run(service_.put("acc", "q-1", {.text = "b"}));
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, b->receipt})).failed_with(ErrorCode::kPopReceiptMismatch));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, "garbage"})).failed_with(ErrorCode::kPopReceiptMismatch));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", "nobody", 0, a->receipt})).failed_with(ErrorCode::kPopReceiptMismatch));
  EXPECT_EQ(to_receipt(*from_receipt(a->receipt)), a->receipt);
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, a->receipt})));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", a->id, 0, a->receipt})).failed_with(ErrorCode::kMessageNotFound));
}

/// An engine may fetch the rows that a run read and run the body again: if each run read up to another time, that would
/// not end.
TEST(QueueBodies, AllRunsSeeOneTime) {
  class RunningClock final : public StandingClock {
   public:
    [[nodiscard]] Time now() const override {
      return StandingClock::now() + ++readings_ * std::chrono::milliseconds(1);
    }

   private:
    mutable int readings_ = 0;
  };
  asio::io_context io;
  RunningClock clock;
  const auto random = make_seeded_random(7);
  const auto engine = kv::make_memory_engine();  // which ends the process if two runs do not agree
  QueueService service(*engine, clock, *random);
  int done = 0;
  asio::co_spawn(
      io,
      [&]() -> Task<void> {
        done += (co_await service.create_queue("acc", "q-1", {})).has_value();
        for (const auto delay : {0, 1}) {
          done += (co_await service.put("acc", "q-1", {.text = "m", .delay = std::chrono::milliseconds(delay)}))
                      .has_value();
        }
        for (int i = 0; i < 2; ++i) {
          const auto taken =
              co_await service.get("acc", "q-1", {.count = 1, .visibility = std::chrono::seconds(30)}, {});
          EXPECT_TRUE(taken && taken->size() == 1) << (taken ? "nothing" : taken.error().message);
          if (!taken || taken->empty()) co_return;
          const auto& message = taken->front();
          const auto updated = co_await service.update({"acc", "q-1", message.message.id, 0, message.receipt},
                                                       std::chrono::seconds(30), "changed");
          EXPECT_TRUE(updated) << updated.error().message;
          if (!updated) co_return;
          done += (co_await service.erase({"acc", "q-1", message.message.id, 0, updated->receipt})).has_value();
        }
      },
      asio::detached);
  io.run();
  EXPECT_EQ(done, 5);
}

/// A message from the time when every message had a row by id: it keeps that row until it goes, and then both go.
TEST_F(QueueTest, AMessageOfTheEarlierFormatIsListed) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  const auto put = run(service_.put("acc", "q-1", {.text = "old"}));
  ASSERT_TRUE(put);
  const auto place = *from_receipt(put->receipt);
  std::uint64_t generation = 0;
  kv::TransactionBody age = [&](kv::Transaction& txn) -> Result<void> {
    const auto queue = TRY(read_queue(txn, "acc", "q-1"));
    if (!queue) return fail(ErrorCode::kQueueNotFound);
    generation = queue->generation;
    const auto found = TRY(read_place(txn, generation, Set::kReady, place));
    if (!found || found->record.listed) return fail(ErrorCode::kMessageNotFound);
    auto bytes = encode(found->record);
    bytes[0] = 2;
    txn.put(queue_keys::placed(generation, Set::kReady, place), bytes);
    txn.put(queue_keys::by_id(generation, put->id), kIdRecord.encode({Set::kReady, place, {}}));
    return {};
  };
  ASSERT_TRUE(run(engine_->transact(std::move(age))));
  auto taken = run(service_.get("acc", "q-1", {.count = 1, .visibility = std::chrono::seconds(30)}, {}));
  ASSERT_TRUE(taken && taken->size() == 1);
  EXPECT_EQ(taken->front().message.text, "old");
  const LeaseKey lease{"acc", "q-1", put->id, taken->front().message.epoch};
  EXPECT_TRUE(run(service_.renew(lease, std::chrono::seconds(30), std::nullopt, 0)));
  EXPECT_TRUE(run(service_.erase(lease)));
  const auto snapshot = engine_->snapshot();
  EXPECT_FALSE(*snapshot->get(queue_keys::by_id(generation, put->id)));
}

TEST_F(QueueTest, ReceiptIsDeadAfterTheMessageWentAwayAndCameBack) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  const auto put = run(service_.put("acc", "q-1", {"x", {}, std::nullopt}));
  ASSERT_TRUE(put);
  ASSERT_TRUE(run(service_.move({"acc", "q-1", put->id, 0, put->receipt}, {.to_queue = "q-2-poison"})));
  ASSERT_TRUE(run(service_.delete_queue("acc", "q-1")));
  // The same moment, and again the first message of the queue: only the generation tells the places apart.
  ASSERT_TRUE(run(service_.redrive("acc", "q-2-poison", put->id, {.to_queue = "q-1", .reset_dequeue_count = true})));
  EXPECT_TRUE(run(service_.erase({"acc", "q-1", put->id, 0, put->receipt})).failed_with(ErrorCode::kMessageNotFound));
}

TEST_F(QueueTest, TextsAreMeasuredInBytesOfUtf8) {
  std::string text;
  for (int i = 0; i < 32768; ++i) text += "\u00e9";
  EXPECT_TRUE(check_text(text));
  EXPECT_TRUE(check_text(text + "x").failed_with(ErrorCode::kRequestBodyTooLarge));
}

TEST_F(QueueTest, TextsAreThoseThatAnAnswerInXmlCanCarry) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  const auto put = run(service_.put("acc", "q-1", {"\uFFFD\x7F\t\r\n", {}, std::nullopt}));
  ASSERT_TRUE(put);
  const LeaseKey holder{"acc", "q-1", put->id, 0, put->receipt};
  for (const std::string text : {"\x01", "\uFFFE", "\uFFFF", "\xC3"}) {
    EXPECT_TRUE(run(service_.put("acc", "q-1", {text, {}, std::nullopt})).failed_with(ErrorCode::kInvalidInput));
    EXPECT_TRUE(run(service_.update(holder, {}, text)).failed_with(ErrorCode::kInvalidInput));
    EXPECT_TRUE(
        run(service_.move(holder, {.to_queue = "q-1-poison", .text = text})).failed_with(ErrorCode::kInvalidInput));
    EXPECT_TRUE(run(service_.finish(holder, {{"q-1", {.text = text}}})).failed_with(ErrorCode::kInvalidInput));
  }
}

TEST_F(QueueTest, CreateComparesMetadata) {
  EXPECT_EQ(run(service_.create_queue("acc", "q-1", {{"Owner", "me"}})).value(), CreateOutcome::kCreated);
  EXPECT_EQ(run(service_.create_queue("acc", "q-1", {{"owner", "me"}})).value(), CreateOutcome::kExistedAlready);
  EXPECT_TRUE(run(service_.create_queue("acc", "q-1", {})).failed_with(ErrorCode::kQueueAlreadyExists));
  EXPECT_TRUE(run(service_.create_queue("acc", "a--b", {})).failed_with(ErrorCode::kInvalidResourceName));
  EXPECT_TRUE(run(service_.clear("acc", "a--b")).failed_with(ErrorCode::kInvalidResourceName));
  EXPECT_TRUE(run(service_.create_queue("acc", "ab", {})).failed_with(ErrorCode::kOutOfRangeInput));
  EXPECT_TRUE(run(service_.set_metadata("acc", "q-1", {{"1x", ""}})).failed_with(ErrorCode::kInvalidMetadata));
}

TEST_F(QueueTest, ThousandsOfExpiredMessagesDoNotHideTheLiveOne) {
  ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {})));
  for (int i = 0; i < 3000; ++i)
    ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "old", .time_to_live = seconds(5)})));
  ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "live"})));
  advance(seconds(6));
  auto seen = run(service_.peek("acc", "q-1", 1));
  ASSERT_TRUE(seen);
  ASSERT_EQ(seen->size(), 1U);
  EXPECT_EQ((*seen)[0].text, "live");
  EXPECT_EQ(run(service_.get_properties("acc", "q-1"))->messages, 1U);
}

struct ManyExpired : QueueTest {
  void SetUp() override { ASSERT_TRUE(run(service_.create_queue("acc", "q-1", {}))); }
  void put(const char* text) { ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = text}))); }
  void put_what_expires(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(run(service_.put("acc", "q-1", {.text = "old", .time_to_live = seconds(5)})));
    }
  }
  std::size_t seen(std::uint32_t count) { return run(service_.peek("acc", "q-1", count))->size(); }
  std::uint64_t counted() { return run(service_.get_properties("acc", "q-1"))->messages; }
};

TEST_F(ManyExpired, APeekPassesOverSomeOfThem) {
  put("first");
  put_what_expires(5000);
  put("last");
  advance(seconds(6));
  EXPECT_EQ(seen(2), 1U);
  ASSERT_TRUE(run(service_.upkeep()));
  EXPECT_EQ(seen(2), 2U);
}

TEST_F(ManyExpired, ARequestDropsSomeOfThem) {
  put_what_expires(10'000);
  put("last");
  advance(seconds(6));
  EXPECT_EQ(counted(), 10'001U - 4096);
  EXPECT_EQ(counted(), 10'001U - 8192);
  EXPECT_EQ(counted(), 1U);
  EXPECT_EQ(seen(1), 1U);
}

TEST_F(ManyExpired, AGetFindsWhatIsBehindThem) {
  put_what_expires(10'000);
  put("last");
  advance(seconds(6));
  const auto taken = run(service_.get("acc", "q-1", {1, seconds(30)}, {}));
  ASSERT_TRUE(taken);
  ASSERT_EQ(taken->size(), 1U);
  EXPECT_EQ(taken->front().message.text, "last");
}

TEST_F(ManyExpired, AGetThatMetNothingElseDoesNotSayThatTheQueueIsEmpty) {
  put_what_expires(66'000);
  put("last");
  advance(seconds(6));
  EXPECT_TRUE(run(service_.get("acc", "q-1", {1, seconds(30)}, {})).failed_with(ErrorCode::kServerBusy));
  const auto taken = run(service_.get("acc", "q-1", {1, seconds(30)}, {}));
  ASSERT_TRUE(taken);
  EXPECT_EQ(taken->size(), 1U);
}

}  // namespace
}  // namespace tidemark::queue_service
