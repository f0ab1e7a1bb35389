// Consumer groups: one reader at a time, and a place that only the reader that has the group moves on.
#include "feeds/consumers/consumer_store.h"
#include "feeds/tokens/token.h"
#include "tests/support/loopback.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::feeds {
namespace {

struct ConsumersTest : table_store::TableFixture {
  static std::string token(table_store::Version version) {
    return token_of("People", table_store::place_in_feed(1, version, 0));
  }
  Result<ConsumerStore::Stored> put(std::string group, std::string token, bool reset = true) {
    return run_task(consumers.put("People", std::move(group), std::move(token), reset));
  }
  Result<Consumer> lease(std::string reader, std::optional<std::uint64_t> epoch = {}, Duration wait = {}) {
    return run_task(consumers.lease("people", "g", std::move(reader), epoch, std::chrono::seconds(30), wait));
  }
  Result<Consumer> acknowledge(std::uint64_t epoch, std::string token, bool leaves = false) {
    return run_task(consumers.acknowledge("PEOPLE", "g", epoch, std::move(token), leaves));
  }
  Result<Consumer> get() { return run_task(consumers.get("people", "g")); }

  rpc::Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  ConsumerStore consumers{tables, clock};
};

TEST_F(ConsumersTest, AGroupIsThereUntilItIsRemoved) {
  EXPECT_TRUE(get().failed_with(ErrorCode::kConsumerNotFound));
  EXPECT_TRUE(lease("r").failed_with(ErrorCode::kConsumerNotFound));
  EXPECT_TRUE(acknowledge(1, token(5)).failed_with(ErrorCode::kConsumerNotFound));
  EXPECT_TRUE(run_task(consumers.remove("people", "g")).failed_with(ErrorCode::kConsumerNotFound));
  EXPECT_TRUE(put("g", token(5))->created);
  EXPECT_FALSE(put("g", token(7), false)->created);
  EXPECT_EQ(get()->token, token(5)) << "who declares it again changes nothing";
  EXPECT_FALSE(put("g", token(3))->created);
  EXPECT_EQ(get()->token, token(3));
  ASSERT_TRUE(put("h", token(1)));
  EXPECT_EQ(run_task(consumers.all("People"))->size(), 2U);
  EXPECT_EQ(run_task(consumers.all(""))->size(), 2U);
  EXPECT_EQ(run_task(consumers.all("Other"))->size(), 0U);
  ASSERT_TRUE(run_task(consumers.remove("people", "g")));
  EXPECT_TRUE(get().failed_with(ErrorCode::kConsumerNotFound));
}

TEST_F(ConsumersTest, OneReaderAtATimeHasIt) {
  ASSERT_TRUE(put("g", token(5)));
  const auto first = lease("a");
  ASSERT_TRUE(first);
  const auto refused = lease("b");
  ASSERT_TRUE(refused.failed_with(ErrorCode::kConsumerInUse));
  EXPECT_NE(refused.error().message.find("'a'"), std::string::npos);
  EXPECT_EQ(lease("a", first->epoch)->epoch, first->epoch);
  clock.time += std::chrono::seconds(20);
  const auto until = lease("a", first->epoch)->lease_until;
  EXPECT_GE(until, clock.time + std::chrono::seconds(30));
  clock.time = until;
  const auto second = lease("b");
  ASSERT_TRUE(second);
  EXPECT_GT(second->epoch, first->epoch);
  EXPECT_TRUE(lease("a", first->epoch).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(acknowledge(first->epoch, token(9)).failed_with(ErrorCode::kFenced));
  EXPECT_EQ(get()->token, token(5));
  ASSERT_TRUE(acknowledge(second->epoch, token(9)));
  EXPECT_EQ(get()->token, token(9));
  EXPECT_EQ(get()->acknowledged_at, clock.time);
}

TEST_F(ConsumersTest, ALeaseOutlastsTheWaitHoweverMuchOfItIsUsed) {
  constexpr auto kLease = std::chrono::seconds(30), kWait = std::chrono::seconds(60);
  for (const auto used :
       {std::chrono::seconds(0), std::chrono::seconds(1), std::chrono::seconds(30), kWait, kWait + kLease}) {
    ASSERT_TRUE(put("g", token(5)));
    const auto epoch = lease("a", {}, kWait)->epoch;
    clock.time += used;
    ASSERT_TRUE(lease("a", epoch, kWait));
    clock.time += kWait + kLease - std::chrono::milliseconds(1);
    EXPECT_TRUE(lease("b").failed_with(ErrorCode::kConsumerInUse)) << used.count() << " s were used";
    EXPECT_TRUE(lease("a", epoch));
  }
}

TEST_F(ConsumersTest, ABusyReaderDoesNotWriteForEachPage) {
  ASSERT_TRUE(put("g", token(5)));
  const auto first = lease("a");
  clock.time += std::chrono::seconds(1);
  EXPECT_EQ(lease("a", first->epoch)->version, first->version);
}

TEST_F(ConsumersTest, AReaderThatBeginsAgainUnderItsNameFencesItself) {
  ASSERT_TRUE(put("g", token(5)));
  const auto before = lease("a")->epoch;
  const auto after = lease("a");
  ASSERT_TRUE(after) << "it need not wait for its own lease";
  EXPECT_TRUE(acknowledge(before, token(9)).failed_with(ErrorCode::kFenced));
}

TEST_F(ConsumersTest, EpochsRiseAndAreWhatADoubleHolds) {
  clock.time = Time(Ticks(17'950'000'000'000'001));
  std::uint64_t last = 0;
  for (int group = 0; group < 3; ++group) {
    ASSERT_TRUE(put("g", token(5)));
    for (int reader = 0; reader < 3; ++reader) {
      const auto epoch = lease("a")->epoch;
      EXPECT_EQ(static_cast<std::uint64_t>(static_cast<double>(epoch)), epoch);
      EXPECT_GT(epoch, last);
      last = epoch;
    }
    ASSERT_TRUE(run_task(consumers.remove("people", "g")));
    clock.time += std::chrono::seconds(1);
  }
}

TEST_F(ConsumersTest, ThePlaceOnlyGoesOn) {
  ASSERT_TRUE(put("g", token(5)));
  const auto epoch = lease("a")->epoch;
  ASSERT_TRUE(acknowledge(epoch, token(9)));
  ASSERT_TRUE(acknowledge(epoch, token(7)));
  EXPECT_EQ(get()->token, token(9));
  ASSERT_TRUE(acknowledge(epoch, token_of("People", table_store::place_in_feed(2, 1, 0))))
      << "of the feed that came after";
  EXPECT_EQ(get()->token, token_of("People", table_store::place_in_feed(2, 1, 0)));
}

TEST_F(ConsumersTest, OfSeveralLogsThePlaceIsBehindWhatAnyTokenSays) {
  const auto at = [](table_store::Version first, table_store::Version second) {
    return token_of("People", {1, {{first, 0}, {second, 0}}});
  };
  ASSERT_TRUE(put("g", at(5, 5)));
  const auto epoch = lease("a")->epoch;
  ASSERT_TRUE(acknowledge(epoch, at(9, 5)));
  ASSERT_TRUE(acknowledge(epoch, at(5, 7)));
  EXPECT_EQ(get()->token, at(9, 7));
  ASSERT_TRUE(acknowledge(epoch, at(6, 6)));
  EXPECT_EQ(get()->token, at(9, 7));
}

TEST_F(ConsumersTest, WhoLeavesMakesRoomAtOnce) {
  ASSERT_TRUE(put("g", token(5)));
  const auto epoch = lease("a")->epoch;
  ASSERT_TRUE(acknowledge(epoch, "", true));
  EXPECT_TRUE(lease("b"));
  EXPECT_EQ(get()->token, token(5));
}

TEST_F(ConsumersTest, AReaderOfAGroupThatWasSetBackIsFenced) {
  ASSERT_TRUE(put("g", token(5)));
  const auto epoch = lease("a")->epoch;
  ASSERT_TRUE(put("g", token(1)));
  EXPECT_TRUE(acknowledge(epoch, token(9)).failed_with(ErrorCode::kFenced));
  clock.time += std::chrono::seconds(1);
  ASSERT_TRUE(run_task(consumers.remove("people", "g")));
  ASSERT_TRUE(put("g", token(1)));
  EXPECT_TRUE(acknowledge(epoch, token(9)).failed_with(ErrorCode::kFenced)) << "it is another group of the name";
}

TEST_F(ConsumersTest, TheirNumberIsBounded) {
  for (std::size_t i = 0; i < kMaxConsumers; ++i) ASSERT_TRUE(put("g" + std::to_string(i), token(1)));
  EXPECT_TRUE(put("more", token(1)).failed_with(ErrorCode::kTooManyConsumers));
  EXPECT_TRUE(put("g1", token(2)));
}

TEST(ConsumerNames, AreNarrow) {
  for (const auto* good : {"a", "a.b-c_D", "9"}) EXPECT_TRUE(is_group_name(good)) << good;
  for (const auto* bad : {"", ".a", "a b", "a/b", "\xC3\xA4"}) EXPECT_FALSE(is_group_name(bad)) << bad;
  EXPECT_FALSE(is_group_name(std::string(64, 'a')));
}

}  // namespace
}  // namespace tidemark::feeds
