// Messages that take turns by a key: tenants, keys of a tenant, and the limits of keys.
#include <map>

#include "tests/unit/queue_test_support.h"

namespace tidemark::queue_service {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Texts = std::vector<std::string>;

class QueueTurns : public QueueTest {
 protected:
  void SetUp() override { ASSERT_TRUE(run(service_.create_queue("acc", "work", {}))); }
  void TearDown() override { check_rows(); }

  MessageName put(std::string text, std::string key, Duration delay = {}) {
    auto placed = run(client_.put_named(
        "work", PutRequest{.text = std::move(text), .delay = delay, .group = std::move(key), .turns = true}));
    EXPECT_TRUE(placed);
    return placed.value_or(MessageName{});
  }
  void put_many(const std::string& key, int count) {
    for (int i = 0; i < count; ++i) put(key, key);
  }
  std::vector<Message> take(std::uint32_t count = 100, KeyLimits limits = {}, Duration visibility = seconds(30)) {
    auto got = run(client_.receive_some("work", visibility, count, limits));
    EXPECT_TRUE(got);
    return got.value_or(std::vector<Message>{});
  }
  static Texts texts(const std::vector<Message>& messages) {
    Texts out;
    for (const auto& each : messages) out.push_back(each.text);
    return out;
  }
  void complete(const Message& message) { EXPECT_TRUE(run(client_.complete(lease_of("work", message)))); }
  void give_back(const Message& message, Duration delay = {}) {
    EXPECT_TRUE(run(client_.release(lease_of("work", message), delay, "", false)));
  }
  QueueFigures figures() { return run(client_.figures("work")).value_or(QueueFigures{}); }
  std::size_t rows_of_kind(char kind) {
    std::size_t n = 0;
    const auto snapshot = engine_->snapshot();
    for (auto cursor = snapshot->scan({"m", "n"}); cursor->valid(); cursor->next()) n += cursor->key()[9] == kind;
    return n;
  }
  /// The figures are the sizes of the sets, and every turn is that of a key.
  void check_rows() {
    std::map<char, std::size_t> rows;
    std::uint64_t with_turn = 0, waiting = 0;
    const auto snapshot = engine_->snapshot();
    for (auto cursor = snapshot->scan({"m", "n"}); cursor->valid(); cursor->next()) {
      ++rows[cursor->key()[9]];
      if (cursor->key()[9] == 'v') with_turn += kTenantRecord.decode(cursor->value())->keys;
      if (cursor->key()[9] == 'u') waiting += kTurnKeyRecord.decode(cursor->value())->waiting;
    }
    EXPECT_EQ(with_turn, rows['o']);
    EXPECT_EQ(waiting, rows['w']);
    EXPECT_EQ(figures().waiting, rows['w']);
  }
};

TEST_F(QueueTurns, TenantsTakeTurns) {
  for (const char* text : {"a1", "a2", "a3", "a4"}) put(text, "a");
  for (const char* text : {"b1", "b2"}) put(text, "b");
  put("c1", "c");
  EXPECT_EQ(texts(take()), (Texts{"a1", "b1", "c1", "a2", "b2", "a3", "a4"}));
  EXPECT_EQ(rows_of_kind('v') + rows_of_kind('o') + rows_of_kind('w'), 0U);
}

TEST_F(QueueTurns, TheTurnsGoOnFromCallToCall) {
  put_many("a", 5);
  put_many("b", 2);
  Texts all;
  for (int i = 0; i < 7; ++i) {
    for (auto& text : texts(take(1))) all.push_back(std::move(text));
  }
  EXPECT_EQ(all, (Texts{"a", "b", "a", "b", "a", "a", "a"}));
}

TEST_F(QueueTurns, KeysOfATenantTakeTurnsAndShareItsPlace) {
  for (const char* text : {"1", "2", "3"}) put(std::string("a/x") + text, "a/x");
  put("a/y1", "a/y");
  put("b1", "b");
  put("b2", "b");
  EXPECT_EQ(texts(take()), (Texts{"a/x1", "b1", "a/x2", "b2", "a/y1", "a/x3"}));
}

TEST_F(QueueTurns, MessagesWithoutAKeyAreOneTenant) {
  put_many("", 3);
  put("a1", "a");
  const auto taken = take();
  EXPECT_EQ(texts(taken), (Texts{"", "a1", "", ""}));
  // The limits of keys are not for them.
  for (const auto& message : taken) give_back(message);
  EXPECT_EQ(take(100, {.running = 1, .per_second = 1}).size(), 4U);
}

TEST_F(QueueTurns, AKeyHasSoManyRunningAtOnce) {
  put_many("a/x", 4);
  put_many("a/y", 1);
  put_many("b", 1);
  const KeyLimits two{.running = 2};
  const auto first = take(100, two);
  EXPECT_EQ(texts(first), (Texts{"a/x", "b", "a/x", "a/y"}));
  EXPECT_EQ(take(100, two).size(), 0U);
  put("a/x", "a/x");
  EXPECT_EQ(take(100, two).size(), 0U) << "it waits behind the others of its key";
  complete(first[0]);
  const auto second = take(100, two);
  EXPECT_EQ(texts(second), (Texts{"a/x"}));
  give_back(first[2]);
  EXPECT_EQ(take(100, two).size(), 1U);
  EXPECT_EQ(take(100, two).size(), 0U);
  // Without the limit, the others come, too.
  EXPECT_EQ(take(100).size(), 0U) << "they have no turn while the key is at its limit";
  complete(second[0]);
  EXPECT_EQ(take(100).size(), 2U);
}

TEST_F(QueueTurns, AMessageWhoseLeaseRanOutStillCounts) {
  put_many("a", 2);
  const KeyLimits one{.running = 1};
  const auto first = take(100, one, seconds(10));
  ASSERT_EQ(first.size(), 1U);
  advance(seconds(11));
  const auto again = take(100, one, seconds(10));
  ASSERT_EQ(texts(again).size(), 1U);
  EXPECT_EQ(again[0].id, first[0].id);
  EXPECT_EQ(take(100, one).size(), 0U);
  complete(again[0]);
  EXPECT_EQ(take(100, one).size(), 1U);
}

TEST_F(QueueTurns, AKeyHasARate) {
  put_many("a", 3);
  put_many("b", 1);
  const KeyLimits five{.per_second = 5};
  EXPECT_EQ(texts(take(100, five)), (Texts{"a", "b"}));
  EXPECT_EQ(take(100, five).size(), 0U);
  advance(milliseconds(201));
  EXPECT_EQ(take(100, five).size(), 1U);
  advance(milliseconds(100));
  EXPECT_EQ(take(100, five).size(), 0U);
  advance(milliseconds(101));
  EXPECT_EQ(take(100, five).size(), 1U);
}

TEST_F(QueueTurns, AWaitingCallerIsWokenWhenTheRateAllowsIt) {
  put_many("a", 2);
  const KeyLimits one{.per_second = 1};
  ASSERT_EQ(take(100, one).size(), 1U);
  ASSERT_EQ(take(100, one).size(), 0U);
  auto waits = start(client_.receive("work", seconds(30), seconds(20), one));
  EXPECT_FALSE(poll(waits).has_value());
  advance(seconds(1));
  const auto came = poll(waits);
  ASSERT_TRUE(came && *came && **came);
  EXPECT_EQ((**came)->text, "a");
}

TEST_F(QueueTurns, DelayedMessagesAndThoseGivenBackTakeTheirTurn) {
  put("late", "a", seconds(5));
  put_many("a", 2);
  put_many("b", 2);
  auto taken = take(2);
  EXPECT_EQ(texts(taken), (Texts{"a", "b"}));
  give_back(taken[0], seconds(3));
  advance(seconds(6));
  EXPECT_EQ(texts(take(100)), (Texts{"a", "b", "a", "late"}));
}

TEST_F(QueueTurns, AWithdrawnMessageLetsTheNextFollow) {
  const auto head = put("head", "a");
  const auto second = put("second", "a");
  put("third", "a");
  EXPECT_TRUE(run(client_.withdraw({"work"}, second)).value_or(false));
  EXPECT_TRUE(run(client_.withdraw({"work"}, head)).value_or(false));
  EXPECT_EQ(texts(take()), (Texts{"third"}));
}

TEST_F(QueueTurns, AMovedMessageTakesTurnsAgainWhenItComesBack) {
  put("one", "a");
  put("two", "a");
  const auto first = take(1, {.running = 1});
  ASSERT_TRUE(run(client_.move(lease_of("work", first[0]), {.to_queue = "other-poison", .annotation = "why"})));
  EXPECT_EQ(texts(take(1, {.running = 1})), (Texts{"two"}));
  put("three", "a");
  ASSERT_TRUE(run(client_.redrive("other-poison", first[0].id, "work", {}, "")));
  EXPECT_EQ(take(100, {.running = 1}).size(), 0U) << "the key is at its limit";
}

TEST_F(QueueTurns, ManyLeasesAreRenewedInOneCall) {
  put_many("a", 3);
  const auto taken = take(100, {}, seconds(10));
  complete(taken[1]);
  advance(seconds(8));
  std::vector<Lease> leases;
  for (const auto& message : taken) leases.push_back(lease_of("work", message));
  const auto held = run(client_.renew_all(leases, seconds(10)));
  ASSERT_TRUE(held);
  EXPECT_EQ(*held, (std::vector<bool>{true, false, true}));
  advance(seconds(5));
  EXPECT_EQ(take().size(), 0U);
  advance(seconds(6));
  EXPECT_EQ(take().size(), 2U);
}

TEST_F(QueueTurns, OneTenantThatFloodsDoesNotDelayTheOthers) {
  for (int i = 0; i < 2000; ++i) put("flood", "flood/" + std::to_string(i % 50));
  for (int tenant = 0; tenant < 20; ++tenant) put("calm", "t" + std::to_string(tenant));
  int position = 0, last = 0;
  for (int calls = 0; calls < 50 && position < 100; ++calls) {
    for (const auto& text : texts(take(1))) {
      ++position;
      if (text == "calm") last = position;
    }
  }
  EXPECT_LE(last, 42) << "a turn of all tenants has 21 messages";
}

/// Many random steps keep the rows consistent, lose nothing, and respect the limit.
TEST_F(QueueTurns, RandomStepsLoseNothing) {
  auto random = make_seeded_random(11);
  const KeyLimits limits{.running = 2, .per_second = 0};
  std::map<std::string, Message> held;  // by id
  std::size_t put_so_far = 0, done = 0;
  for (int step = 0; step < 3000; ++step) {
    const auto choice = random->below(10);
    if (choice < 4) {
      const auto key = "t" + std::to_string(random->below(3)) + "/" + std::to_string(random->below(3));
      put(key, key, random->below(5) == 0 ? Duration(seconds(1)) : Duration{});
      ++put_so_far;
    } else if (choice < 7) {
      for (auto& message : take(static_cast<std::uint32_t>(1 + random->below(4)), limits, seconds(60))) {
        held[message.id] = message;
      }
    } else if (choice < 9 && !held.empty()) {
      auto any = held.begin();
      std::advance(any, random->below(held.size()));
      if (random->below(3) == 0) {
        give_back(any->second, random->below(2) == 0 ? Duration(seconds(1)) : Duration{});
      } else {
        complete(any->second);
        ++done;
      }
      held.erase(any);
    } else {
      advance(milliseconds(100));
    }
    std::map<std::string, int> running;
    for (const auto& [id, message] : held) ++running[message.group];
    for (const auto& [key, count] : running) ASSERT_LE(count, 2) << key << " at step " << step;
    if (step % 100 == 0) check_rows();
    for (auto& [id, message] : held) ASSERT_TRUE(run(client_.renew(lease_of("work", message), seconds(60), {})));
  }
  for (int turn = 0; turn < 5000 && done < put_so_far; ++turn) {
    advance(milliseconds(500));
    for (auto& message : take(50, limits, seconds(60))) held[message.id] = message;
    for (const auto& [id, message] : held) {
      complete(message);
      ++done;
    }
    held.clear();
  }
  EXPECT_EQ(done, put_so_far);
  EXPECT_EQ(figures().messages, 0U);
  EXPECT_EQ(rows_of_kind('u') + rows_of_kind('v') + rows_of_kind('o'), 0U);
}

}  // namespace
}  // namespace tidemark::queue_service
