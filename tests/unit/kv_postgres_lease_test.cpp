// Leases: the processes that may take a shard, and when; reads from memory, which show committed rows and nothing else.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/postgres/shared_known_rows.h"
#include "tests/support/environment.h"
#include "tests/support/socket_proxy.h"
#include "tests/unit/kv_postgres_fixture.h"

namespace tidemark::kv {
namespace {

using testing::increment;
using testing::PostgresTest;
using testing::put;
using testing::run;
using testing::start;
using tidemark::testing::SocketProxy;
using namespace std::chrono_literals;

TEST(SharedKnownRows, WhatIsBeingCommittedIsNotFound) {
  SharedKnownRows known(1UL << 20);
  known.change([](KnownRows& rows) { rows.learn("a", "old"); });
  WriteOverlay writes;
  writes.put("a", "new");
  writes.put("b", "new");
  known.begin_commit(writes);
  EXPECT_FALSE(known.find("a").has_value()) << "it may be visible already";
  known.end_commit(false);
  EXPECT_EQ(*known.find("a"), "old");
  EXPECT_FALSE(known.find("b").has_value());
  known.begin_commit(writes);
  known.end_commit(true);
  EXPECT_EQ(*known.find("a"), "new");
  EXPECT_EQ(*known.find("b"), "new");
}

TEST(SharedKnownRows, ASuggestionNeverHidesWhatWasWrittenSince) {
  SharedKnownRows known(1UL << 20);
  const auto read_at = known.forgotten();
  WriteOverlay writes;
  writes.put("a", "new");
  writes.erase("b");
  known.begin_commit(writes);
  known.end_commit(true);
  for (const auto* key : {"a", "b", "c"}) known.suggest(key, "old", read_at);
  known.take_suggested();
  EXPECT_EQ(*known.find("a"), "new");
  EXPECT_EQ(*known.find("b"), std::nullopt);
  EXPECT_EQ(*known.find("c"), "old");
}

TEST(SharedKnownRows, ASuggestionFromBeforeEverythingWasForgottenIsNotTaken) {
  SharedKnownRows known(100);
  const auto read_at = known.forgotten();
  known.change([](KnownRows& rows) { rows.learn("a", std::string(200, 'x')); });
  known.keep_bound();  // which also forgets that "b" may have been written
  known.suggest("b", "old", read_at);
  known.take_suggested();
  EXPECT_FALSE(known.find("b").has_value());
  known.suggest("b", "now", known.forgotten());
  known.take_suggested();
  EXPECT_EQ(*known.find("b"), "now");
}

TEST(SharedKnownRows, SuggestionsTakeUpOnlySoMuch) {
  SharedKnownRows known(1UL << 30);
  const std::string large(1UL << 20, 'x');
  int taken = 0;
  for (int i = 0; i < 100; ++i) known.suggest(std::to_string(i), large, known.forgotten());
  known.take_suggested();
  for (int i = 0; i < 100; ++i) taken += known.find(std::to_string(i)) ? 1 : 0;
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 10);
  known.suggest("next", large, known.forgotten());
  known.take_suggested();
  EXPECT_TRUE(known.find("next")) << "there is room again";
}

class PostgresLeaseTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    options_.lease = 60'000ms;  // so that no pause of this machine ends it
  }
};

TEST_F(PostgresLeaseTest, ReadsComeFromMemoryOnceARowIsKnown) {
  const auto engine = open(options_);
  ASSERT_TRUE(put(*engine, "a", "1").has_value());
  for (int i = 0; i < 10; ++i) EXPECT_EQ(engine->get("a")->value(), "1");
  EXPECT_EQ(engine->figures().known_reads, 10U);
  EXPECT_EQ(engine->figures().asked_reads, 0U);
  // Rows that were read from the database become known with the next look at the latest.
  while (engine->figures().known_reads == 10U) ASSERT_EQ(*engine->get("b"), std::nullopt);
  ASSERT_TRUE(put(*engine, "b", "2").has_value());
  EXPECT_EQ(engine->get("b")->value(), "2");
}

TEST_F(PostgresLeaseTest, WithoutALeaseEveryReadAsks) {
  options_.lease = 0ms;
  const auto engine = open(options_);
  ASSERT_TRUE(put(*engine, "a", "1").has_value());
  EXPECT_EQ(engine->get("a")->value(), "1");
  EXPECT_EQ(engine->figures().known_reads, 0U);
}

TEST_F(PostgresLeaseTest, ReadersSeeWhatWasToldAndNeverGoBack) {
  options_.known_bytes = 2000;  // forgets all the time
  const auto engine = open(options_);
  std::atomic<int> told{0};
  std::atomic<bool> done{false};
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 3; ++reader) {
    readers.emplace_back([&] {
      for (int last = 0; !done;) {
        const int least = std::max(last, told.load());
        const auto found = engine->get("n");
        ASSERT_TRUE(found.has_value());
        last = std::stoi(found->value_or("0"));
        ASSERT_GE(last, least);
      }
    });
  }
  for (int n = 1; n <= static_cast<int>(test_size(100)); ++n) {
    ASSERT_TRUE(run(*engine, increment).has_value());
    told = n;
    ASSERT_TRUE(put(*engine, "filler" + std::to_string(n % 7), std::string(400, 'x')).has_value());
  }
  done = true;
}

TEST_F(PostgresLeaseTest, AnOwnerThatLetsGoIsFollowedAtOnceAndOneThatLivesIsNot) {
  auto first = open(options_);
  first.reset();
  const auto begun = std::chrono::steady_clock::now();
  options_.lease = 3'000ms;
  const auto second = open_as("second");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  options_.owner = "third";
  const auto refused = open_failure();
  EXPECT_EQ(refused.code, ErrorCode::kConfigInvalid);
  EXPECT_NE(refused.message.find("in use by second"), std::string::npos) << refused.message;
  EXPECT_TRUE(put(*second, "a", "1").has_value());
}

/// A reader that still walks must not make a former owner show its snapshot to later readers.
TEST_F(PostgresLeaseTest, AFormerOwnersSnapshotShowsWhatTheNextOneWrote) {
  options_.lease = 600ms;
  const auto first = open(options_);
  ASSERT_TRUE(put(*first, "a", "old").has_value());
  const auto held = first->snapshot();
  EXPECT_EQ(held->get("a")->value(), "old");
  session()->run({{"let_go", "UPDATE owners SET lease_ms = 0, epoch = epoch + 1"}}, std::nullopt).value();
  const auto second = open_as("second");
  ASSERT_TRUE(put(*second, "a", "new").has_value());
  // The first owner's lease was good when it was sent: the owner may go on for as long as that, and no longer.
  const auto lease_ends = std::chrono::steady_clock::now() + options_.lease;
  while (first->snapshot()->get("a")->value() != "new") ASSERT_LT(std::chrono::steady_clock::now(), lease_ends + 10s);
  EXPECT_EQ(held->get("a")->value(), "old");
}

TEST_F(PostgresLeaseTest, WithoutALeaseASnapshotShowsWhatTheNextOwnerWrote) {
  options_.lease = 0ms;
  const auto first = open(options_);
  ASSERT_TRUE(put(*first, "a", "old").has_value());
  const auto held = first->snapshot();
  const auto second = open_as("second");
  ASSERT_TRUE(put(*second, "a", "new").has_value());
  EXPECT_EQ(first->snapshot()->get("a")->value(), "new");
}

TEST_F(PostgresLeaseTest, WhoeverRanInTheSamePlaceIsNotWaitedFor) {
  options_.place = "here";
  const auto first = open(options_);
  const auto begun = std::chrono::steady_clock::now();
  const auto second = open_as("second");
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 30s);
  EXPECT_TRUE(put(*second, "a", "1").has_value());
  EXPECT_TRUE(put(*first, "a", "2").failed_with(ErrorCode::kServerBusy));
}

/// The first owner's link is cut: it cannot know of the second, and must not answer from memory once there may be one.
TEST_F(PostgresLeaseTest, AnOwnerThatIsCutOffReadsNothingFromMemoryOnceItsLeaseIsOver) {
  options_.lease = 600ms;
  const testing::TempDir directory;
  SocketProxy proxy(directory.path() / ".s.PGSQL.5432", server_->socket());
  auto cut_off = options_;
  cut_off.url = "host=" + directory.path().string() + " user=postgres dbname=postgres";
  const auto first = open(cut_off);
  ASSERT_TRUE(put(*first, "a", "1").has_value());
  ASSERT_EQ(first->get("a")->value(), "1");
  proxy.shut(true);
  const auto second = open_as("second");  // waits for the lease
  ASSERT_TRUE(put(*second, "a", "2").has_value());
  EXPECT_FALSE(first->get("a").has_value()) << "the database alone could tell, and it cannot be asked";
  proxy.shut(false);
  EXPECT_EQ(first->get("a")->value(), "2");
  EXPECT_TRUE(put(*first, "a", "3").failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(first->get("a")->value(), "2");
}

}  // namespace
}  // namespace tidemark::kv
