// Turns of scans: bounded, fair, never lost; and scans that give the thread to other work, with a manual clock.
#include <boost/asio/detached.hpp>

#include "table_fixture.h"
#include "table_store/storage/scan_turns.h"

namespace tidemark::table_store {
namespace {

using Trace = std::vector<std::string>;

Task<void> worker(ScanTurns& turns, std::string name, int slices, Trace& trace) {
  for (int i = 0; i < slices; ++i) {
    auto turn = co_await turns.take(static_cast<std::uint64_t>(i));
    EXPECT_TRUE(turn.has_value());
    EXPECT_LE(turns.running(), 1U);
    trace.push_back(name);
  }
}

TEST(ScanTurns, LeastServedGoesFirst) {
  asio::io_context io;
  ScanTurns turns(ScanLimits{1, 16});
  Trace trace;
  asio::co_spawn(io, worker(turns, "long", 4, trace), asio::detached);
  while (trace.size() < 2) io.run_one();
  asio::co_spawn(io, worker(turns, "short", 1, trace), asio::detached);
  asio::co_spawn(io, worker(turns, "other", 4, trace), asio::detached);
  io.run();
  ASSERT_EQ(trace.size(), 9U);
  const auto place = [&](const char* name) { return std::find(trace.begin(), trace.end(), name) - trace.begin(); };
  EXPECT_LE(place("short"), 4);
  EXPECT_EQ(turns.running(), 0U);
  EXPECT_EQ(turns.waiting(), 0U);
}

TEST(ScanTurns, TooManyWaitersAreRefused) {
  asio::io_context io;
  ScanTurns turns(ScanLimits{1, 2});
  std::vector<Result<ScanTurns::Turn>> held;
  int refused = 0;
  for (int i = 0; i < 5; ++i) {
    asio::co_spawn(io, turns.take(0), [&](std::exception_ptr, Result<ScanTurns::Turn> turn) {
      if (turn) {
        held.push_back(std::move(turn));
      } else {
        EXPECT_EQ(turn.error().code, ErrorCode::kServerBusy);
        ++refused;
      }
    });
  }
  while (io.poll_one() > 0) continue;
  EXPECT_EQ(held.size(), 1U);
  EXPECT_EQ(refused, 2);
  EXPECT_EQ(turns.waiting(), 2U);
  for (int i = 0; i < 3; ++i) {
    held.clear();
    while (io.poll_one() > 0) continue;
  }
  EXPECT_EQ(turns.running(), 0U);
}

TEST(ScanTurns, ATurnGivenToSomebodyGoneIsNotLost) {
  ScanTurns turns(ScanLimits{1, 8});
  auto gone = std::make_unique<asio::io_context>();
  asio::io_context io;
  Result<ScanTurns::Turn> first;
  asio::co_spawn(io, turns.take(0), [&](std::exception_ptr, Result<ScanTurns::Turn> turn) { first = std::move(turn); });
  io.run();
  ASSERT_TRUE(first && *first);
  asio::co_spawn(*gone, turns.take(0), asio::detached);
  gone->poll();
  ASSERT_EQ(turns.waiting(), 1U);
  first->give_back();  // the turn is on its way to a context that never runs again
  EXPECT_EQ(turns.running(), 1U);
  gone.reset();
  EXPECT_EQ(turns.running(), 0U);
}

TEST(ScanTurns, ClosingSendsEverybodyAway) {
  asio::io_context io;
  ScanTurns turns(ScanLimits{1, 8});
  std::vector<Result<ScanTurns::Turn>> answers;
  const auto ask = [&] {
    asio::co_spawn(io, turns.take(0),
                   [&](std::exception_ptr, Result<ScanTurns::Turn> turn) { answers.push_back(std::move(turn)); });
  };
  for (int i = 0; i < 3; ++i) ask();
  while (io.poll_one() > 0) continue;
  ASSERT_EQ(answers.size(), 1U);
  turns.close();
  ask();
  io.restart();
  io.run();  // nothing is left waiting
  ASSERT_EQ(answers.size(), 4U);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_TRUE(answers[i].failed_with(ErrorCode::kUnavailable));
  answers.clear();
  EXPECT_EQ(turns.running(), 0U);
}

/// A millisecond passes with every reading.
class TickingClock : public StandingClock {
 public:
  [[nodiscard]] Time now() const override { return time + std::chrono::milliseconds(++looks_); }

 private:
  mutable int looks_ = 0;
};

struct ScanShareTest : TableFixture {
  TickingClock ticking;
  std::unique_ptr<TableService> ticking_service;

  void SetUp() override {
    create("people");
    for (int i = 0; i < 2000; i += 100) {
      std::vector<Mutation> batch;
      for (int n = 0; n < 100; ++n) batch.push_back(change(MutationKind::kInsert, std::to_string(10000 + i + n)));
      ASSERT_TRUE(mutate(batch).has_value());
    }
    ticking_service = std::make_unique<TableService>(*engine, ticking, *random, ScanLimits{1, 128});
  }

  static Query scan() {
    Query query;
    query.table = "people";
    query.filter = *Filter::parse("n eq 77");
    return query;
  }
};

Task<void> scan_all(TableService& service, Query query, int& done) {
  std::function<bool(const EntityView&)> each = [](const EntityView&) { return true; };
  auto result = co_await service.query("acct", std::move(query), std::move(each));
  EXPECT_TRUE(result.has_value());
  ++done;
}

TEST_F(ScanShareTest, SixtyFourScansLeavePointReadsBetweenTheirSlices) {
  asio::io_context io;
  int done = 0;
  for (int i = 0; i < 64; ++i) asio::co_spawn(io, scan_all(*ticking_service, scan(), done), asio::detached);
  io.poll_one();
  int reads_at = -1;
  int handlers = 0;
  // A read that comes while all scans wait is served after at most the opening slices, not after the scans.
  asio::post(io, [&] {
    EXPECT_TRUE(service->get("acct", "people", "p", "10000").has_value());
    reads_at = done;
  });
  while (io.run_one() > 0) ++handlers;
  EXPECT_EQ(reads_at, 0);
  EXPECT_EQ(done, 64);
  EXPECT_GT(handlers, 64 * 10);
}

TEST_F(ScanShareTest, AScanThatNobodyWaitsForEnds) {
  auto query = scan();
  int asked = 0;
  query.abandoned = [&asked] { return ++asked == 3; };
  auto result = run_task(ticking_service->query("acct", query, [](const EntityView&) { return true; }));
  EXPECT_TRUE(result.failed_with(ErrorCode::kCancelled));
  EXPECT_EQ(asked, 3);
}

TEST_F(ScanShareTest, AScanAtShutdownEndsWithAContinuation) {
  auto query = scan();
  query.filter = Filter();
  query.abandoned = [&] {
    ticking_service->begin_shutdown();
    return false;
  };
  std::vector<std::string> rows;
  const auto take = [&](const EntityView& entity) {
    rows.emplace_back(entity.row_key);
    return true;
  };
  auto result = run_task(ticking_service->query("acct", query, take));
  ASSERT_TRUE(result.has_value());
  ASSERT_TRUE(result->next);
  EXPECT_FALSE(rows.empty());
  EXPECT_GT(result->next->row_key, rows.back());
}

TEST_F(ScanShareTest, AClockThatJumpsBackOnlyShortensSlices) {
  class JumpyClock : public StandingClock {
   public:
    [[nodiscard]] Time now() const override { return time - std::chrono::hours(++looks_); }
    mutable int looks_ = 0;
  } jumpy;
  TableService service_with_jumps(*engine, jumpy, *random);
  auto result = run_task(service_with_jumps.query("acct", scan(), [](const EntityView&) { return true; }));
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->next);
}

}  // namespace
}  // namespace tidemark::table_store
