// The check reports each kind of damage to the rows of a queue service, and no undamaged data.
#include "queue_service/storage/queue_check.h"

#include <gmock/gmock.h>

#include "queue_service/storage/queue_keys.h"
#include "queue_service/storage/queue_records.h"
#include "queue_test_support.h"
#include "tests/support/damage.h"

namespace tidemark::queue_service {
namespace {

using kv::edit_row;
using kv::erase_row;
using kv::kGarbage;
using kv::put_row;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A queue with messages in each of its sets, another queue, and a deleted one.
class QueueCheck : public QueueTest {
 protected:
  void SetUp() override {
    for (const auto* queue : {"orders", "others", "gone"}) ASSERT_TRUE(run(service_.create_queue("acc", queue, {})));
    ASSERT_TRUE(run(service_.delete_queue("acc", "gone")));
    put({.text = "leased"});
    TakeRequest request;
    request.visibility = std::chrono::hours(1);
    request.lease = true;
    ASSERT_EQ(run(service_.get("acc", "orders", request, {}))->size(), 1U);
    put({.text = "ready"});
    put({.text = "delayed", .delay = std::chrono::hours(1)});
    put({.text = "first", .group = "g"});
    put({.text = "behind", .group = "g"});
    put({.text = "once", .idempotency_key = "k"});
    ASSERT_THAT(check(), IsEmpty());
  }
  void put(PutRequest request) { ASSERT_TRUE(run(service_.put("acc", "orders", std::move(request)))); }
  std::vector<std::string> check() {
    kv::CheckRun run;
    EXPECT_TRUE(check_queues(*engine_, run));
    return kv::told(run.report());
  }
  static std::string queue(const std::string& name = "orders") { return queue_keys::queue("acc", name); }
  std::uint64_t generation() { return kQueueRecord.decode(**engine_->get(queue()))->generation; }
  /// Returns the first row of this kind in the queue.
  std::string first(char kind) { return kv::keys_under(*engine_, kv::key('m', generation(), kind)).at(0); }
  void damage(char kind) { put_row(*engine_, first(kind), kGarbage); }
};

TEST_F(QueueCheck, TellsAMessageThatCannotBeRead) {
  damage('r');
  EXPECT_THAT(check(), Contains("record: the message cannot be read"));
  EXPECT_THAT(check(), Contains("figure: ready messages: 3 are counted, 2 are there"));
}

TEST_F(QueueCheck, TellsMessagesThatAreMissingInEachSet) {
  const std::pair<char, const char*> cases[] = {
      {'r', "figure: ready messages: 3 are counted, 2 are there"},
      {'w', "figure: waiting messages: 1 are counted, 0 are there"},
      {'k', "figure: idempotency keys by age: 1 are counted, 0 are there"},
  };
  for (const auto& [kind, text] : cases) {
    const auto key = first(kind);
    const auto value = **engine_->get(key);
    erase_row(*engine_, key);
    EXPECT_THAT(check(), Contains(text));
    put_row(*engine_, key, value);
    ASSERT_THAT(check(), IsEmpty());
  }
}

TEST_F(QueueCheck, TellsDelayedMessagesAndThoseInFlightApart) {
  for (const auto& key : kv::keys_under(*engine_, kv::key('m', generation(), 't'))) {
    const auto value = **engine_->get(key);
    const bool leased = decode_message(value)->leased;
    erase_row(*engine_, key);
    EXPECT_THAT(check(), Contains(leased ? "figure: messages in flight: 1 are counted, 0 are there"
                                         : "figure: delayed messages: 1 are counted, 0 are there"));
    put_row(*engine_, key, value);
  }
}

TEST_F(QueueCheck, TellsAMessageBeforeWhereItsSetBegins) {
  edit_row(*engine_, queue_keys::figures(generation()), kFiguresRecord,
           [](auto& figures) { figures.ready_front = Place{Time::max(), 0}; });
  EXPECT_THAT(check(), ElementsAre("figure: a message is before the place where its set begins"));
}

TEST_F(QueueCheck, TellsFiguresThatCannotBeRead) {
  put_row(*engine_, queue_keys::figures(generation()), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the figures of the queue cannot be read"));
}

TEST_F(QueueCheck, TellsAPlaceThatCannotBeRead) {
  put_row(*engine_, kv::key('m', generation(), 'r', "short"), **engine_->get(first('r')));
  EXPECT_THAT(check(), ElementsAre("record: the message's place cannot be read"));
}

TEST_F(QueueCheck, TellsARowByIdWithoutItsMessageAndTheOtherWayRound) {
  const auto key = first('i');
  const auto value = **engine_->get(key);
  erase_row(*engine_, key);
  EXPECT_THAT(check(), ElementsAre("reference: the message is listed, and has no row by id"));
  put_row(*engine_, key, value);
  put_row(*engine_, queue_keys::by_id(generation(), "nobody"), value);
  EXPECT_THAT(check(), ElementsAre("reference: names a message that is not there")) << "it is another's place";
}

TEST_F(QueueCheck, TellsAGroupThatIsMissingOrMiscounts) {
  const auto key = first('g');
  const auto value = **engine_->get(key);
  edit_row(*engine_, key, kGroupRecord, [](auto& group) { group.waiting = 5; });
  EXPECT_THAT(check(), ElementsAre("figure: waiting messages of all groups: 5 are counted, 1 are there"));
  put_row(*engine_, key, kGarbage);
  EXPECT_THAT(check(), Contains("record: the group cannot be read"));
  erase_row(*engine_, key);
  EXPECT_THAT(check(), Contains("reference: the message's group is not there"));
}

TEST_F(QueueCheck, TellsAnIdempotencyKeyThatCannotBeRead) {
  damage('k');
  EXPECT_THAT(check(), ElementsAre("record: the idempotency key cannot be read"));
}

TEST_F(QueueCheck, TellsAQueueThatCannotBeReadAndWhatWasInIt) {
  put_row(*engine_, queue(), kGarbage);
  EXPECT_THAT(check(), ElementsAre("record: the queue cannot be read", "reference: belongs to no queue"));
}

TEST_F(QueueCheck, TellsQueuesWithOneGeneration) {
  edit_row(*engine_, queue("others"), kQueueRecord, [&](auto& record) { record.generation = generation(); });
  EXPECT_THAT(check(), Contains("reference: another queue has the same generation"));
}

TEST_F(QueueCheck, TellsAGenerationThatWasNeverGivenOut) {
  put_row(*engine_, std::string(queue_keys::kGenerations), kv::key(std::uint64_t{1}));
  EXPECT_THAT(check(), ElementsAre("figure: its generation is beyond the last one given out"));
}

TEST_F(QueueCheck, TellsRowsOfNoKnownKind) {
  put_row(*engine_, "!", "");
  EXPECT_THAT(check(), ElementsAre("stray: is of a kind that this version does not know"));
  erase_row(*engine_, "!");
  put_row(*engine_, kv::key('m', generation(), '!'), "");
  EXPECT_THAT(check(), ElementsAre("stray: is of a kind that this version does not know"));
}

}  // namespace
}  // namespace tidemark::queue_service
