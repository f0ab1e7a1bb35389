// How an owner reads the log of its table: pages that are there already are joined.
#include "workers/indexes/change_pace.h"
#include "workers/indexes/change_reader.h"

#include <gtest/gtest.h>

#include <boost/asio/use_future.hpp>
#include <deque>

#include "common/rpc/wire.h"

namespace tidemark::workers {
namespace {

using table_store::ChangedEntity;
using table_store::ChangesPage;

/// Answers with these pages, one after the other.
struct Log : rpc::Transport {
  std::deque<ChangesPage> pages;
  std::vector<table_store::calls::ChangedEntities> asked;
  Task<Result<std::string>> call(std::string, std::string payload, Duration) override {
    asked.push_back(*wire::decode<table_store::calls::ChangedEntities>(payload));
    auto page = std::move(pages.front());
    pages.pop_front();
    co_return wire::encode(page);
  }
};

ChangesPage page_of(table_store::Version through, bool more) {
  ChangesPage page;
  page.through = page.as_of = {{through}};
  page.more = more;
  page.changes = 3;
  page.bytes = 100;
  return page;
}

/// Adds an entity that had these values at its changes and has this one now; empty: nothing.
void add(ChangesPage& page, const std::string& row, const std::vector<std::string>& before, const std::string& now) {
  auto& entity = page.entities.emplace_back(ChangedEntity{"p", row, {}, {}});
  for (const auto& value : before) entity.before.push_back({{"City", value}});
  if (now.empty()) return;
  entity.now.emplace();
  entity.now->partition_key = "p";
  entity.now->row_key = row;
  entity.now->properties = {{"City", now}};
}

std::string told(const ChangesPage& page) {
  std::string out;
  for (const auto& entity : page.entities) {
    out += entity.row_key + "[";
    for (const auto& state : entity.before) out += std::get<std::string>(state[0].value) + " ";
    out += "]" + (entity.now ? std::get<std::string>(entity.now->properties[0].value) : "-") + " ";
  }
  return out;
}

struct ReadChangesTest : ::testing::Test {
  Log log;
  table_store::TableClient client{log, "acct"};
  asio::io_context io;
  Result<ChangesPage> read(std::size_t most = 10'000) {
    ChangesRequest request{"Source", "x", {{5}}, {0, 3}, std::chrono::seconds(1), {}, most};
    auto future = asio::co_spawn(io, read_changes(client, std::move(request)), asio::use_future);
    io.restart();
    io.run();
    return future.get();
  }
};

TEST_F(ReadChangesTest, WhatIsThereAlreadyIsOnePage) {
  log.pages = {page_of(10, true), page_of(20, true), page_of(30, false)};
  add(log.pages[0], "a", {"Rome"}, "Bonn");
  add(log.pages[0], "b", {}, "Kiel");
  add(log.pages[1], "c", {"Ulm"}, "");
  add(log.pages[1], "a", {"Bonn", "Pisa"}, "");
  add(log.pages[2], "b", {"Kiel"}, "Jena");
  log.pages[0].skip = {2, 7};
  const auto page = read();
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(told(*page), "c[Ulm ]- a[Rome Bonn Pisa ]- b[Kiel ]Jena ");
  EXPECT_EQ(page->through.of(0), 30);
  EXPECT_FALSE(page->more);
  EXPECT_EQ(page->changes, 9U);
  EXPECT_EQ(page->bytes, 300U);
  ASSERT_EQ(log.asked.size(), 3U);
  EXPECT_EQ(log.asked[0].after.of(0), 5);
  EXPECT_EQ(log.asked[0].skip, (table_store::NotesRead{0, 3}));
  EXPECT_EQ(log.asked[0].wait, std::chrono::seconds(1));
  EXPECT_EQ(log.asked[1].after.of(0), 10);
  EXPECT_EQ(log.asked[1].skip, (table_store::NotesRead{2, 7}));
  EXPECT_EQ(log.asked[1].wait, Duration());
  EXPECT_EQ(log.asked[2].after.of(0), 20);
}

TEST_F(ReadChangesTest, ThereIsAnEndToIt) {
  log.pages = {page_of(10, true), page_of(11, true), page_of(12, true)};
  for (auto& page : log.pages) add(page, std::to_string(page.through.of(0)), {}, "Rome");
  const auto page = read(2);
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->entities.size(), 2U);
  EXPECT_EQ(page->through.of(0), 11);
  EXPECT_TRUE(page->more);
}

/// Repeated changes of the same entities take no more room.
TEST_F(ReadChangesTest, WhatChangesAgainAndAgainIsReadOn) {
  const std::string large(9UL << 20, 'x');
  for (table_store::Version through = 1; through <= 3; ++through) {
    add(log.pages.emplace_back(page_of(through, through < 3)), "a", {std::to_string(through)}, large);
  }
  const auto page = read(2);
  ASSERT_TRUE(page.has_value());
  ASSERT_EQ(page->entities.size(), 1U);
  EXPECT_EQ(page->entities[0].before.size(), 3U);
  EXPECT_EQ(page->through.of(0), 3);
  EXPECT_FALSE(page->more);
}

TEST_F(ReadChangesTest, ButNotForEver) {
  for (table_store::Version through = 1; through <= 3; ++through) {
    add(log.pages.emplace_back(page_of(through, true)), "a", {"Rome"}, "Bonn");
    log.pages.back().changes = 60'000;
  }
  const auto page = read();
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->through.of(0), 2);
  EXPECT_EQ(page->changes, 120'000U);
  EXPECT_TRUE(page->more);
}

TEST_F(ReadChangesTest, ADropIsTheLastOfAPage) {
  log.pages = {page_of(10, true), page_of(20, true), page_of(30, false)};
  add(log.pages[0], "a", {"Rome"}, "");
  log.pages[1].dropped = 20;
  const auto page = read();
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->dropped, 20);
  EXPECT_EQ(page->entities.size(), 1U);
  EXPECT_EQ(log.asked.size(), 2U);
}

TEST_F(ReadChangesTest, ALossMeanwhileIsToldAtOnce) {
  log.pages = {page_of(10, true), page_of(10, false)};
  log.pages[1].stale = true;
  const auto page = read();
  ASSERT_TRUE(page.has_value());
  EXPECT_TRUE(page->stale);
}

constexpr LogRoom kMuchRoom{1'000'000, 1ULL << 30};

/// Returns the changes of a page, once their number has settled, for a log that gets a change every `apart` and an
/// owner that takes `work` for a page. The changes are those of so many entities in turn.
std::uint64_t changes_of_a_page(Duration apart, Duration work, std::uint64_t entities = 1'000'000,
                                LogRoom room = kMuchRoom) {
  ChangePace pace;
  Duration now{};
  Duration last{};
  std::uint64_t changes = 0;
  for (int pages = 0; pages < 100; ++pages) {
    now += pace.rest(now);
    changes = static_cast<std::uint64_t>((now - last) / apart);
    last = now;
    pace.read(now, {changes, changes * 100, std::min(changes, entities), false}, room);
    now += work;
  }
  return changes;
}

TEST(ChangePaceTest, LetsWhatComesFastComeTogether) {
  using namespace std::chrono_literals;
  EXPECT_EQ(changes_of_a_page(500us, 2ms), 4U) << "2,000 a second: at once";
  EXPECT_EQ(changes_of_a_page(400us, 2ms), 5U);
  EXPECT_EQ(changes_of_a_page(250us, 2ms), 4000U) << "4,000 a second: in pages of a second";
  EXPECT_EQ(changes_of_a_page(100us, 2ms), 10'000U);
  EXPECT_EQ(changes_of_a_page(50us, 2ms), 20'000U);
  EXPECT_EQ(changes_of_a_page(50us, 1200ms), 24'000U) << "who has work has no rest";
}

TEST(ChangePaceTest, WaitsLongerForWhatChangesAgainAndAgain) {
  using namespace std::chrono_literals;
  EXPECT_EQ(changes_of_a_page(500us, 2ms, 1), 4U) << "but not if it comes slowly";
  EXPECT_EQ(changes_of_a_page(100us, 2ms, 1), 30'000U);
  EXPECT_EQ(changes_of_a_page(50us, 2ms, 10'000), 60'000U);
  EXPECT_EQ(changes_of_a_page(50us, 2ms, 20'000), 20'000U) << "none of them twice in a second";
}

TEST(ChangePaceTest, LeavesRoomInTheLog) {
  using namespace std::chrono_literals;
  EXPECT_LE(changes_of_a_page(50us, 2ms, 10, {10'000, 1ULL << 30}), 2'600U) << "a quarter";
  EXPECT_LE(changes_of_a_page(50us, 2ms, 10, {1'000'000, 1'000'000}), 2'600U) << "100 bytes a change";
  EXPECT_LE(changes_of_a_page(50us, 2ms, 10, {1, 1}), 40U) << "no rest";
  EXPECT_EQ(changes_of_a_page(50us, 2ms, 10, {240'000, 1ULL << 30}), 60'000U);
}

TEST(ChangePaceTest, IsInAHurryIfThereAreMore) {
  using namespace std::chrono_literals;
  ChangePace pace;
  EXPECT_EQ(pace.rest(5s), Duration());
  pace.read(5s, {10'000, 0, 10'000, true}, kMuchRoom);
  EXPECT_EQ(pace.rest(5s), Duration());
  pace.read(10s, {10'000, 0, 10'000, false}, kMuchRoom);
  EXPECT_EQ(pace.rest(10s), 1s);
  EXPECT_EQ(pace.rest(10s + 950ms), 50ms);
  EXPECT_EQ(pace.rest(11s), Duration());
  pace.read(11s, {}, kMuchRoom);
  EXPECT_EQ(pace.rest(11s), Duration());
}

}  // namespace
}  // namespace tidemark::workers
