// Features of the engine on PostgreSQL alone: owners that fence each other, connections that end in the middle of a
// commit, bodies that are run again.
#include <gtest/gtest.h>

#include <latch>

#include "tests/support/socket_proxy.h"
#include "tests/support/wait_until.h"
#include "tests/unit/kv_postgres_fixture.h"

namespace tidemark::kv {
namespace {

using testing::Entries;
using testing::entries;
using testing::erase_range;
using testing::increment;
using testing::PostgresTest;
using testing::put;
using testing::run;
using testing::start;
using testing::value_of;
using tidemark::testing::SocketProxy;
using tidemark::testing::TemporaryPostgres;

#define EXPECT_MENTIONS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(PostgresTest, FindsEverythingAfterReopening) {
  ASSERT_TRUE(put(*open(options_), "a", "1").has_value());
  const auto engine = open_as("second");
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{"a", "1"}}));
  EXPECT_EQ(engine->get("a")->value(), "1");
}

TEST_F(PostgresTest, ShardsAndSchemasAreApart) {
  const auto engine = open(options_);
  auto other_shard = options_, other_schema = options_;
  other_shard.shard = 1;
  other_schema.schema = server_->new_schema();
  ASSERT_TRUE(put(*engine, "a", "1").has_value());
  EXPECT_TRUE(entries(*open(other_shard)->snapshot()).empty());
  EXPECT_TRUE(entries(*open(other_schema)->snapshot()).empty());
  EXPECT_TRUE(put(*engine, "a", "2").has_value()) << "nobody has taken its shard";
}

TEST_F(PostgresTest, ASecondOwnerFencesTheFirst) {
  const auto first = open(options_);
  ASSERT_TRUE(put(*first, "a", "1").has_value());
  ASSERT_TRUE(run(*first, increment).has_value());
  const auto second = open_as("second");
  ASSERT_TRUE(run(*second, increment).has_value());

  const auto outcome = put(*first, "a", "too late");
  ASSERT_TRUE(outcome.failed_with(ErrorCode::kServerBusy));
  EXPECT_MENTIONS(outcome.error().message, "taken");
  ASSERT_TRUE(first->failure().has_value());
  EXPECT_EQ(first->failure()->message, outcome.error().message);
  EXPECT_FALSE(erase_range(*first, {"", ""}).has_value());
  first->drain();
  EXPECT_EQ(entries(*second->snapshot()), (Entries{{"a", "1"}, {"n", "2"}}));
  EXPECT_TRUE(put(*second, "a", "2").has_value());
}

TEST_F(PostgresTest, AFormerOwnerTellsNothingThatItOnlyBelieves) {
  const auto first = open(options_);
  ASSERT_TRUE(run(*first, increment).has_value());
  const auto second = open_as("second");
  ASSERT_TRUE(run(*second, increment).has_value());
  // A body that writes nothing, and one that refuses because of a value that it read.
  std::string read;
  EXPECT_TRUE(run(*first, [&](Transaction& txn) -> Result<void> {
                read = TRY(txn.get("n")).value_or("");
                return {};
              }).failed_with(ErrorCode::kServerBusy));
  const auto third = open_as("third");
  EXPECT_TRUE(run(*second, [](Transaction& txn) -> Result<void> {
                return TRY(txn.get("n")) == "2" ? fail(ErrorCode::kConditionNotMet) : Result<void>();
              }).failed_with(ErrorCode::kServerBusy));
}

TEST_F(PostgresTest, AFormerOwnerErasesNothing) {
  const auto first = open(options_);
  ASSERT_TRUE(put(*first, "a", "1").has_value());
  const auto second = open_as("second");
  EXPECT_TRUE(erase_range(*first, {"a", "b"}).failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(value_of(*second->snapshot(), "a"), "1");
}

// Each of the troubles happens to the commit of an increment: it is counted once, even if the request or the answer was
// lost.
class PostgresTroubleTest : public PostgresTest {
 protected:
  void SetUp() override {
    PostgresTest::SetUp();
    if (server_ == nullptr) return;
    path_ = directory_.path() / ".s.PGSQL.5432";
    proxy_ = std::make_unique<SocketProxy>(path_, server_->socket());
    options_.url = "host=" + directory_.path().string() + " user=postgres dbname=postgres";
    engine_ = open(options_);
    ASSERT_TRUE(engine_);
    ASSERT_TRUE(run(*engine_, increment).has_value());
  }
  void TearDown() override {
    engine_.reset();
    proxy_.reset();
  }
  void expect_counted(const std::string& count) {
    EXPECT_EQ(value_of(*engine_->snapshot(), "n"), count);
    ASSERT_TRUE(run(*engine_, increment).has_value());
    EXPECT_EQ(value_of(*engine_->snapshot(), "n"), std::to_string(std::stoi(count) + 1));
    EXPECT_FALSE(engine_->failure().has_value());
  }

  testing::TempDir directory_;
  std::string path_;
  std::unique_ptr<SocketProxy> proxy_;
  std::unique_ptr<PostgresEngine> engine_;
};

TEST_F(PostgresTroubleTest, ACommitWhoseReplyIsLostIsNotRepeated) {
  proxy_->cause(SocketProxy::Trouble::kLoseReply);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  EXPECT_EQ(engine_->figures().settled, 1U);
  EXPECT_EQ(groups(), 2);
  expect_counted("2");
}

TEST_F(PostgresTroubleTest, ACommitThatDidNotArriveIsRepeated) {
  proxy_->cause(SocketProxy::Trouble::kLoseRequest);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  EXPECT_EQ(engine_->figures().settled, 1U);
  EXPECT_EQ(groups(), 2);
  expect_counted("2");
}

TEST_F(PostgresTroubleTest, ACommitThatArrivesAfterItWasGivenUpDoesNothing) {
  proxy_->cause(SocketProxy::Trouble::kDelay);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  ASSERT_TRUE(put(*engine_, "n", "10").has_value());
  proxy_->release();
  EXPECT_EQ(groups(), 3);
  expect_counted("10");
}

TEST_F(PostgresTroubleTest, AServerThatStandsStillIsNotWaitedForForEver) {
  engine_.reset();
  options_.answer_patience = std::chrono::milliseconds(1000);  // longer than a pause of the machine
  engine_ = open_as("impatient");
  proxy_->cause(SocketProxy::Trouble::kFreeze);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  ASSERT_TRUE(put(*engine_, "n", "10").has_value());
  proxy_->release();  // it goes on, and is not the owner's server any more
  expect_counted("10");
}

// Like a leader that stood still while another one was chosen, and does not know it yet.
TEST_F(PostgresTroubleTest, AServerThatIsBehindIsNotRead) {
  const auto back = session();
  const detail::Prepared behind{"behind", "UPDATE owners SET epoch = epoch - 1"};
  ASSERT_TRUE(back->run({behind}, std::nullopt).has_value());
  EXPECT_TRUE(engine_->snapshot()->get("n").failed_with(ErrorCode::kServerBusy));
  const detail::Prepared again{"again", "UPDATE owners SET epoch = epoch + 1"};
  ASSERT_TRUE(back->run({again}, std::nullopt).has_value());
  expect_counted("1");
}

/// As after a failover to a server that lacked the last groups: the known rows are wrong.
TEST_F(PostgresTroubleTest, ADatabaseThatWentBackInTimeEndsTheEngine) {
  for (int i = 1; i < 50; ++i) ASSERT_TRUE(run(*engine_, increment).has_value());
  const std::vector<detail::Prepared> back = {
      {"older_group", "UPDATE groups SET number = number - 1"},
      {"older_row", "UPDATE entries SET value = '49', written_by = written_by - 1 WHERE key = 'n'"}};
  const auto other = session();  // it stays open: its end would be a request, too
  for (const auto& statement : back) ASSERT_TRUE(other->run({statement}, std::nullopt).has_value());
  proxy_->cause(SocketProxy::Trouble::kLoseRequest);
  EXPECT_FALSE(run(*engine_, increment).has_value());
  ASSERT_TRUE(engine_->failure().has_value());
  EXPECT_EQ(engine_->failure()->code, ErrorCode::kStorageFailure) << "whoever watches opens it again";
  EXPECT_MENTIONS(engine_->failure()->detail, "went back in time");
  engine_ = open_as("next");
  expect_counted("49");
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 1);
}

/// PostgreSQL refuses it like this to a session that has waited too long for a lock.
TEST_F(PostgresTroubleTest, AClaimThatIsRefusedIsMadeAgain) {
  auto direct = options_;
  direct.url = server_->url();
  const auto other = std::move(*detail::connect(direct));
  const detail::Prepared begin{"begin_lock", "BEGIN"}, lock{"lock_owners", "SELECT epoch FROM owners FOR UPDATE"};
  const std::vector<detail::Statement> locking = {{begin}, {lock}};
  ASSERT_TRUE(other->run(locking, std::nullopt).has_value());
  proxy_->shut(true);
  wait_until([&] { return engine_->failure().has_value(); });
  proxy_->shut(false);
  const auto* const cancel = R"(SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE 'UPDATE owners SET epoch%')";
  wait_until([&] { return number(cancel) != 0; });
  const detail::Prepared rollback{"end_lock", "ROLLBACK"};
  ASSERT_TRUE(other->run({rollback}, std::nullopt).has_value());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  wait_until([&] { return !engine_->failure() || std::chrono::steady_clock::now() >= give_up; });
  expect_counted("1");
}

TEST_F(PostgresTroubleTest, ALostConnectionIsNoticedBeforeAFetch) {
  proxy_->cause(SocketProxy::Trouble::kLoseReply);
  ASSERT_TRUE(run(*engine_, [](Transaction& txn) -> Result<void> {
                TRY(txn.get("not known yet"));
                return increment(txn);
              }).has_value());
  expect_counted("2");
}

TEST_F(PostgresTroubleTest, AnotherOwnerMayComeWhileAReplyIsLost) {
  proxy_->cause(SocketProxy::Trouble::kDelay);
  auto direct = options_;
  direct.url = server_->url();
  direct.owner = "second";
  std::unique_ptr<PostgresEngine> second;
  proxy_->shut(true);
  auto outcome = start(*engine_, increment);
  second = open(direct);
  proxy_->shut(false);
  EXPECT_TRUE(outcome.get().failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(value_of(*second->snapshot(), "n"), "1");
}

TEST_F(PostgresTroubleTest, ABackendThatIsEndedInTheMiddleOfACommit) {
  const auto other = session();
  const detail::Prepared begin{"begin_lock", "BEGIN"}, lock{"lock_entries", "LOCK TABLE entries IN EXCLUSIVE MODE"};
  const std::vector<detail::Statement> locking = {{begin}, {lock}};
  ASSERT_TRUE(other->run(locking, std::nullopt).has_value());
  auto outcome = start(*engine_, increment);
  const auto* const end = R"(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE wait_event_type = 'Lock' AND query LIKE 'WITH fence%')";
  wait_until([&] { return number(end) != 0; });
  const detail::Prepared rollback{"end_lock", "ROLLBACK"};
  ASSERT_TRUE(other->run({rollback}, std::nullopt).has_value());
  ASSERT_TRUE(outcome.get().has_value());
  EXPECT_EQ(engine_->figures().settled, 1U);
  expect_counted("2");
}

TEST_F(PostgresTroubleTest, ADatabaseThatStaysAwayEndsTheEngine) {
  engine_.reset();
  options_.settle_patience = std::chrono::milliseconds(100);
  engine_ = open_as("impatient");
  proxy_->shut(true);
  const auto outcome = run(*engine_, increment);
  ASSERT_TRUE(outcome.failed_with(ErrorCode::kOperationTimedOut)) << "nobody knows whether it was committed";
  ASSERT_TRUE(engine_->failure().has_value());
  EXPECT_EQ(engine_->failure()->code, ErrorCode::kStorageFailure) << "whoever watches opens it again";
  EXPECT_FALSE(engine_->snapshot()->get("n").has_value());
  EXPECT_FALSE(engine_->get("n").has_value());
  proxy_->shut(false);
  EXPECT_FALSE(run(*engine_, increment).has_value()) << "only opening it again tells what is there";
  engine_ = open_as("next");
  expect_counted("1");
}

TEST_F(PostgresTroubleTest, AnIdleEngineNoticesThatTheServerIsBackThoughItsLeaseIsRenewedElsewhere) {
  engine_.reset();
  options_.lease = std::chrono::milliseconds(2000);
  options_.renewed_elsewhere = true;
  engine_ = open_as("idle");
  const auto epoch = engine_->epoch();
  proxy_->shut(true);
  wait_until([&] { return engine_->failure().has_value(); });  // it checked, because nobody renewed its lease
  EXPECT_TRUE(run(*engine_, increment).failed_with(ErrorCode::kServerBusy));
  proxy_->shut(false);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Result<void> done;
  do {
    engine_->renewed(epoch, lease_clock());
    done = run(*engine_, increment);
  } while (!done && std::chrono::steady_clock::now() < give_up);
  ASSERT_TRUE(done);
  expect_counted("2");
}

/// Rows that become known wake the writer all the time.
TEST_F(PostgresTroubleTest, AnEngineThatIsReadAllTheTimeNoticesThatTheServerIsBack) {
  engine_.reset();
  options_.lease = std::chrono::milliseconds(2000);
  engine_ = open_as("read");
  std::jthread reader([this](const std::stop_token& stop) {
    for (int n = 0; !stop.stop_requested(); ++n) static_cast<void>(engine_->get("row" + std::to_string(n)).has_value());
  });
  proxy_->shut(true);
  wait_until([&] { return engine_->failure().has_value(); });
  proxy_->shut(false);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  Result<void> done;
  do done = run(*engine_, increment);
  while (!done && std::chrono::steady_clock::now() < give_up);
  EXPECT_TRUE(done);
}

TEST_F(PostgresTroubleTest, AGroupThatIsRefusedEndsTheEngine) {
  const detail::Prepared take{"refuse", "ALTER TABLE entries ADD CONSTRAINT full_disk CHECK (key <> '\\x78')"};
  ASSERT_TRUE(session()->run({take}, std::nullopt).has_value());
  EXPECT_FALSE(put(*engine_, "x", "1").has_value());
  EXPECT_TRUE(run(*engine_, increment).failed_with(ErrorCode::kStorageFailure)) << "a store may remember what it saw";
  EXPECT_EQ(engine_->failure()->code, ErrorCode::kStorageFailure);
  engine_ = open_as("next");
  expect_counted("1");
}

TEST_F(PostgresTroubleTest, ReadsGoOnAfterTheServerWasAway) {
  ASSERT_TRUE(engine_->get("n").has_value());
  const auto snapshot = engine_->snapshot();
  proxy_->shut(true);
  EXPECT_TRUE(snapshot->get("n").failed_with(ErrorCode::kServerBusy));
  EXPECT_TRUE(snapshot->scan({})->status().failed_with(ErrorCode::kServerBusy));
  proxy_->shut(false);
  EXPECT_EQ(engine_->get("n")->value(), "1");
  EXPECT_EQ(value_of(*engine_->snapshot(), "n"), "1");
}

/// An update would leave a version each time, and an open transaction of any session keeps them all.
TEST_F(PostgresTest, ARowThatIsRewrittenIsNotUpdatedInItsPlace) {
  auto engine = open(options_);
  ASSERT_TRUE(put(*engine, "once", "1").has_value());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(run(*engine, increment).has_value());
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 2);
  EXPECT_EQ(number("SELECT written_by FROM entries WHERE key = 'n'"), groups());
  EXPECT_EQ(number("SELECT written_by FROM entries WHERE key = 'once'"), 0);

  engine = open_as("second");
  ASSERT_TRUE(run(*engine, increment).has_value());
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{"n", "51"}, {"once", "1"}}));
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 2);
  ASSERT_TRUE(erase_range(*engine, {"n", "o"}).has_value());
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 1);
  ASSERT_TRUE(run(*engine, increment).has_value());
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{"n", "1"}, {"once", "1"}}));
}

/// A row with a number becomes one without, and keeps its value.
TEST_F(PostgresTest, RowsThatAreNotRewrittenAnyMoreMakeRoomForOthers) {
  const auto engine = open(options_);
  const auto rewrite = [&](const std::string& name, std::size_t rows) {
    for (int i = 0; i < 20; ++i) {
      ASSERT_TRUE(run(*engine, [&](Transaction& txn) -> Result<void> {
                    for (std::size_t row = 0; row < rows; ++row) txn.put(name + std::to_string(row), std::to_string(i));
                    return {};
                  }).has_value());
    }
  };
  rewrite("old", RewrittenRows::kMost);
  EXPECT_EQ(number("SELECT count(*) FROM entries WHERE written_by <> 0"), std::int64_t{RewrittenRows::kMost});
  const detail::Prepared later{"later", "UPDATE groups SET number = 100000"};
  ASSERT_TRUE(session()->run({later}, std::nullopt).has_value());
  const auto next = open_as("second");  // whose groups have higher numbers
  ASSERT_TRUE(run(*next, increment).has_value());
  EXPECT_EQ(number("SELECT count(*) FROM entries WHERE written_by <> 0"), 0);
  EXPECT_EQ(value_of(*next->snapshot(), "old7"), "19");
  EXPECT_EQ(entries(*next->snapshot()).size(), RewrittenRows::kMost + 1);
}

/// As after an owner that did not notice that its database went back in time.
TEST_F(PostgresTest, OfAKeyWithSeveralRowsTheNewestStays) {
  auto engine = open(options_);
  ASSERT_TRUE(put(*engine, "once", "1").has_value());
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(run(*engine, increment).has_value());
  const detail::Prepared older{"older_rows", R"(INSERT INTO entries (shard, key, written_by, value)
    SELECT shard, key, before, 'old' FROM entries, unnest(ARRAY[0, written_by - 1]) AS each (before)
    WHERE key = 'n')"};
  ASSERT_TRUE(session()->run({older}, std::nullopt).has_value());
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 4);
  engine = open_as("second");
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{"n", "50"}, {"once", "1"}}));
  ASSERT_TRUE(run(*engine, increment).has_value());
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 2);
}

TEST_F(PostgresTroubleTest, ARowThatIsRewrittenIsCountedOnceThoughAReplyIsLost) {
  for (int i = 1; i < 50; ++i) ASSERT_TRUE(run(*engine_, increment).has_value());
  proxy_->cause(SocketProxy::Trouble::kLoseReply);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  EXPECT_EQ(engine_->figures().settled, 1U);
  expect_counted("51");
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 1);
}

TEST_F(PostgresTroubleTest, ARowThatIsRewrittenIsCountedOnceThoughACommitDidNotArrive) {
  for (int i = 1; i < 50; ++i) ASSERT_TRUE(run(*engine_, increment).has_value());
  proxy_->cause(SocketProxy::Trouble::kLoseRequest);
  ASSERT_TRUE(run(*engine_, increment).has_value());
  EXPECT_EQ(engine_->figures().settled, 1U);
  expect_counted("51");
  EXPECT_EQ(number("SELECT count(*) FROM entries"), 1);
}

TEST_F(PostgresTest, WhatAGroupMissesIsFetchedTogether) {
  const auto engine = open(options_);
  constexpr int kBodies = 64;
  ASSERT_TRUE(run(*engine, [](Transaction& txn) -> Result<void> {
                for (int i = 0; i < kBodies; ++i) {
                  txn.put("to" + std::to_string(i), "n" + std::to_string(i));
                  txn.put("n" + std::to_string(i), "0");
                }
                return {};
              }).has_value());
  const auto later = open_as("second");  // which knows nothing yet
  std::latch all_wait(1);
  std::vector<std::future<Result<void>>> outcomes;
  outcomes.push_back(start(*later, [&](Transaction&) -> Result<void> {
    all_wait.wait();
    return {};
  }));
  for (int i = 0; i < kBodies; ++i) {
    outcomes.push_back(start(*later, [i](Transaction& txn) -> Result<void> {
      const auto to = TRY(txn.get("to" + std::to_string(i)));
      const auto n = TRY(txn.get(to.value_or("")));
      txn.put(*to, std::to_string(std::stoi(n.value_or("")) + 1));
      return {};
    }));
  }
  all_wait.count_down();
  for (auto& outcome : outcomes) ASSERT_TRUE(outcome.get().has_value());
  const auto figures = later->figures();
  EXPECT_LE(figures.fetches, 4U) << "one for each read that rests on another, in one or two groups";
  EXPECT_LE(figures.groups, 3U);
  EXPECT_EQ(figures.transactions, kBodies + 1U);
  EXPECT_EQ(value_of(*later->snapshot(), "n63"), "1");
}

TEST_F(PostgresTest, AnErasureOfManyRowsGoesInPartsAndIsWaitedFor) {
  const auto engine = open(options_);
  constexpr int kRows = 5000;
  ASSERT_TRUE(run(*engine, [](Transaction& txn) -> Result<void> {
                for (int i = 0; i < kRows; ++i) txn.put("k" + std::to_string(i), "");
                txn.put("a", "");
                return {};
              }).has_value());
  engine->erase_ranges({{"b", "k4"}, {"k4", ""}}, [](const Result<void>& done) { EXPECT_TRUE(done.has_value()); });
  ASSERT_TRUE(put(*engine, "c", "").has_value() && put(*engine, "aa", "1").has_value());
  engine->drain();
  EXPECT_EQ(value_of(*engine->snapshot(), "aa"), "1");
  EXPECT_EQ(value_of(*engine->snapshot(), "k1"), "<none>");
  EXPECT_LE(entries(*engine->snapshot()).size(), 3U);
}

TEST_F(PostgresTest, AKeyThatIsTooLongFailsItsTransactionAlone) {
  const auto engine = open(options_);
  std::string longest(kLongestPostgresKey, '\0');
  unsigned state = 1;
  for (auto& c : longest) c = static_cast<char>((state = state * 1664525U + 1013904223U) >> 24);
  EXPECT_TRUE(put(*engine, longest, "x").has_value());
  EXPECT_TRUE(put(*engine, longest + "x", "x").failed_with(ErrorCode::kInvalidInput));
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{longest, "x"}}));
}

TEST_F(PostgresTest, SnapshotsAreBoundedAndThoseOfOneMomentShareOne) {
  options_.max_snapshots = 2;
  options_.lease = std::chrono::minutes(1);
  const auto engine = open(options_);
  const auto write_nothing = [](Transaction&) { return Result<void>(); };
  std::vector<std::shared_ptr<const Reader>> kept;
  for (const auto* value : {"1", "2"}) {
    ASSERT_TRUE(put(*engine, "a", value).has_value());
    for (int i = 0; i < 10; ++i) {
      kept.push_back(engine->snapshot());
      ASSERT_TRUE(run(*engine, write_nothing).has_value());
    }
  }
  EXPECT_EQ(value_of(*kept.front(), "a"), "1");
  EXPECT_EQ(value_of(*kept.back(), "a"), "2");
  ASSERT_TRUE(put(*engine, "a", "3").has_value());
  EXPECT_TRUE(engine->snapshot()->get("a").failed_with(ErrorCode::kServerBusy));
  EXPECT_EQ(engine->get("a")->value(), "3");
  kept.clear();
  EXPECT_EQ(value_of(*engine->snapshot(), "a"), "3");
}

TEST_F(PostgresTest, AWalkOverMoreThanItFetchesAtOnce) {
  const auto engine = open(options_);
  Entries all;
  for (int i = 1000; i < 3000; ++i) all.emplace_back(std::to_string(i), std::string(i % 100 == 0 ? 20000 : 5, 'x'));
  Entries in_body;
  ASSERT_TRUE(run(*engine, [&](Transaction& txn) -> Result<void> {
                for (const auto& [key, value] : all) txn.put(key, value);
                return {};
              }).has_value());
  EXPECT_EQ(entries(*engine->snapshot()), all);
  const auto next = open_as("second");
  ASSERT_TRUE(run(*next, [&](Transaction& txn) -> Result<void> {
                in_body = TRY(testing::try_entries(txn));
                return {};
              }).has_value());
  EXPECT_EQ(in_body, all);
  std::reverse(all.begin(), all.end());
  EXPECT_EQ(entries(*engine->snapshot(), {}, Direction::kReverse), all);
}

TEST_F(PostgresTest, WhatIsKnownIsBounded) {
  options_.known_bytes = 64UL << 10;
  const auto engine = open(options_);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(put(*engine, std::to_string(i), std::string(20000, 'x')).has_value());
    EXPECT_LE(engine->memory().cache_bytes, (64UL << 10) + 30000);
  }
  EXPECT_EQ(entries(*engine->snapshot()).size(), 20U);
}

TEST_F(PostgresTest, RefusalsSayWhatToDo) {
  options_.schema = "Robert'); DROP";
  EXPECT_EQ(open_failure().code, ErrorCode::kConfigInvalid);
  options_.schema = server_->new_schema();
  options_.url = "postgresql://somebody:hunter2@127.0.0.1:1/none";
  const auto failure = open_failure();
  EXPECT_MENTIONS(failure.message, "cannot use the database");
  EXPECT_EQ(failure.message.find("hunter2"), std::string::npos);
  EXPECT_EQ(failure.detail.find("hunter2"), std::string::npos);
}

TEST_F(PostgresTest, TablesOfTheFirstFormatAreMadeAnew) {
  auto engine = open(options_);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(run(*engine, increment).has_value());
  engine.reset();
  for (const auto* statement :
       {"ALTER TABLE entries DROP CONSTRAINT entries_pkey", "ALTER TABLE entries DROP COLUMN written_by",
        "ALTER TABLE entries ADD PRIMARY KEY (shard, key)", "DROP TABLE groups",
        "ALTER TABLE owners ADD COLUMN last_group bigint NOT NULL DEFAULT 5", "UPDATE about SET format = 1"}) {
    ASSERT_TRUE(session()->run({{"old", statement}}, std::nullopt).has_value()) << statement;
  }
  engine = open(options_);
  ASSERT_TRUE(engine);
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(run(*engine, increment).has_value());
  EXPECT_EQ(entries(*engine->snapshot()), (Entries{{"n", "55"}}));
  EXPECT_EQ(number("SELECT count(*) FROM owners WHERE epoch > 1"), 1);
  EXPECT_EQ(number("SELECT written_by FROM entries"), groups());
}

TEST_F(PostgresTest, TablesThatAnotherProcessHasMadeAnewStayAsTheyAre) {
  open(options_).reset();
  const auto* const index = "SELECT 'entries_pkey'::regclass::oid::bigint";
  const auto before = number(index);
  ASSERT_TRUE(session()->run({{"old", "UPDATE about SET format = 1"}}, std::nullopt).has_value());
  const auto other = session();
  const detail::Prepared begin{"begin_lock", "BEGIN"}, renewed{"renewed", "UPDATE about SET format = 2"},
      commit{"end_lock", "COMMIT"};
  const detail::Prepared lock{"lock_tables",
                              "SELECT pg_advisory_xact_lock(hashtextextended('tidemark ' || $1::text, 0))::text"};
  const std::vector<detail::Statement> locking = {{begin}, {lock, detail::Parameters().bytes(options_.schema)}};
  const std::vector<detail::Statement> unlocking = {{renewed}, {commit}};
  ASSERT_TRUE(other->run(locking, std::nullopt).has_value());
  auto opened = std::async(std::launch::async, [this] { return open_as("second"); });
  wait_until([&] { return number("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory'") != 0; });
  ASSERT_TRUE(other->run(unlocking, std::nullopt).has_value());
  EXPECT_TRUE(opened.get());
  EXPECT_EQ(number(index), before);
}

TEST_F(PostgresTest, ATableOfAnotherVersionIsRefused) {
  open(options_).reset();
  const auto other = session();
  ASSERT_TRUE(other->run({{"change_format", "UPDATE about SET format = 999"}}, std::nullopt).has_value());
  EXPECT_MENTIONS(open_failure().message, "another version");
}

TEST(PostgresServers, OnlyPostgresIsTaken) {
  using detail::check_version;
  EXPECT_TRUE(check_version("PostgreSQL 15.18 (Debian 15.18-0+deb12u1) on x86_64-pc-linux-gnu", 150018).has_value());
  EXPECT_MENTIONS(check_version("CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)", 130000).error().message,
                  "CockroachDB");
  EXPECT_MENTIONS(check_version("PostgreSQL 15.2-YB-2.25.0.0-b0 on x86_64", 150002).error().message, "YugabyteDB");
  EXPECT_MENTIONS(check_version("PostgreSQL 9.6.1 on x86_64", 90601).error().message, "PostgreSQL 13 or later");
}

}  // namespace
}  // namespace tidemark::kv
