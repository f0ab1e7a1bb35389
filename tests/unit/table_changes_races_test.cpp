// Waits for changes, and followers that start while others write: nothing is missed.
#include <atomic>
#include <thread>

#include "kv_test_support.h"
#include "table_changes_fixture.h"
#include "table_store/storage/followed_logs.h"

namespace tidemark::table_store {
namespace {

using namespace std::chrono_literals;

struct TableWaitsTest : ChangesFixture {
  std::unique_ptr<Clock> real = make_system_clock();
  std::unique_ptr<TableService> waiting = std::make_unique<TableService>(shards(), *real, *random);
  asio::io_context io;
  std::vector<Result<ChangesPage>> pages;

  void SetUp() override {
    create("people");
    ASSERT_TRUE(run_task(waiting->follow("acct", "people", following_of("x"), false)).has_value());
  }
  Task<void> wait_for_page(Position after, Duration wait) {
    pages.push_back(co_await waiting->changed_entities("acct", "people", "x", std::move(after), {}, 10, wait));
  }
  void start(Duration wait) {
    spawn(io.get_executor(), wait_for_page({}, wait));
    io.poll();
    ASSERT_TRUE(pages.empty()) << "it waits";
  }
  template <class T>
  void also(Task<T> task) {
    asio::co_spawn(io, std::move(task), [](std::exception_ptr, const T& done) { EXPECT_TRUE(done.has_value()); });
  }
  static std::vector<Mutation> one_put() { return {change(kInsertOrReplace, "a", {text("City", "Rome")})}; }
};

TEST_F(TableWaitsTest, AChangeEndsTheWait) {
  start(5s);
  also(waiting->mutate("acct", "people", "p", one_put(), std::nullopt));
  io.run();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_EQ(told(*pages[0]), std::vector<std::string>{"p/a [] Rome"});
}

TEST_F(TableWaitsTest, EveryWayOfWritingEndsTheWait) {
  if (divided()) GTEST_SKIP() << "a move is of one shard";
  create("former");
  ASSERT_TRUE(run_task(waiting->mutate("acct", "former", "p", one_put(), std::nullopt)).has_value());
  std::vector<PartitionMutations> all{{"people", "q", one_put()}};
  const std::vector<Move> moves{{"former", "people", "p", "a", false, {"op", 1, ""}, std::nullopt}};
  start(5s);
  also(waiting->mutate_all("acct", all, std::nullopt));
  io.run();
  io.restart();
  ASSERT_EQ(pages.size(), 1U);
  const auto position = pages[0]->through;
  pages.clear();
  spawn(io.get_executor(), wait_for_page(position, 5s));
  io.poll();
  also(waiting->move_all("acct", moves));
  io.run();
  io.restart();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_EQ(told(*pages[0]), std::vector<std::string>{"p/a [] Rome"});
  const auto next = pages[0]->through;
  pages.clear();
  spawn(io.get_executor(), wait_for_page(next, 5s));
  io.poll();
  also(waiting->delete_table("acct", "people"));
  io.run();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0]->dropped);
}

TEST_F(TableWaitsTest, AWaitWithoutChangesEndsWithAnEmptyPage) {
  create("other");
  spawn(io.get_executor(), wait_for_page({}, 20ms));
  io.poll();
  also(waiting->mutate("acct", "other", "p", one_put(), std::nullopt));
  io.run();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0]->entities.empty());
  EXPECT_EQ(pages[0]->through, pages[0]->as_of) << "the follower has dealt with the change of the other table";
  EXPECT_GT(pages[0]->as_of.newest(), 0);
}

TEST_F(TableWaitsTest, TheEndOfTheStoreAndOfTheFollowerEndTheWait) {
  start(5s);
  also(waiting->unfollow("acct", "people", "x"));
  io.run();
  io.restart();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0].failed_with(ErrorCode::kFollowerNotFound));
  pages.clear();
  ASSERT_TRUE(run_task(waiting->follow("acct", "people", following_of("x"), false)).has_value());
  start(5s);
  waiting->begin_shutdown();
  io.run();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0].has_value());
}

TEST_F(TableWaitsTest, OnlySoManyWait) {
  for (std::size_t i = 0; i <= ChangeWaits::kMaxPlaces; ++i) spawn(io.get_executor(), wait_for_page({}, 5s));
  io.poll();
  ASSERT_EQ(pages.size(), 1U);
  EXPECT_TRUE(pages[0].failed_with(ErrorCode::kServerBusy));
  waiting->begin_shutdown();
  io.run();
  EXPECT_EQ(pages.size(), ChangeWaits::kMaxPlaces + 1);
  EXPECT_TRUE(read("x", {}, 10).has_value());
}

TEST_F(TableWaitsTest, AWaitIsBounded) {
  for (const Duration wait : {Duration(-1), Duration(5s) + Duration(1)}) {
    EXPECT_TRUE(run_task(waiting->changed_entities("acct", "people", "x", {}, {}, 1, wait))
                    .failed_with(ErrorCode::kInvalidInput));
  }
}

/// A store on RocksDB with writers and followers on threads of their own.
struct TableRacesTest : ::testing::Test {
  kv::testing::TempDir directory;
  std::unique_ptr<kv::Engine> engine = [this] {
    auto options = kv::testing::small_options(directory.path() / "db");
    options.durability = kv::Durability::kOs;
    return std::move(*kv::open_rocksdb(options));
  }();
  std::unique_ptr<Clock> clock = make_system_clock();
  std::unique_ptr<Random> random = make_seeded_random(1);
  TableService service{*engine, *clock, *random};

  void SetUp() override { ASSERT_TRUE(run_task(service.create_table("acct", "people")).has_value()); }
  Version put(const std::string& row) {
    auto done = run_task(service.mutate("acct", "people", "p", {change(kInsertOrReplace, row)}, std::nullopt));
    EXPECT_TRUE(done.has_value());
    return done ? done->outcomes[0].version : 0;
  }
};

TEST_F(TableRacesTest, AFollowerThatWaitsMissesNoWakeup) {
  ASSERT_TRUE(run_task(service.follow("acct", "people", following_of("x"), false)).has_value());
  constexpr int kWrites = 3000;
  std::atomic<int> seen{0};
  std::thread writer([&] {
    for (int i = 0; i < kWrites; ++i) {
      put(std::to_string(i));
      // Mostly the follower has to wait for the next one.
      for (int spins = 0; i % 4 != 0 && seen.load() <= i && spins < 200; ++spins) std::this_thread::yield();
    }
  });
  Position position;
  while (seen.load() < kWrites) {
    const auto page = run_task(service.changed_entities("acct", "people", "x", position, {}, 100, kMaxWaitForChanges));
    ASSERT_TRUE(page.has_value());
    ASSERT_FALSE(page->entities.empty()) << "a whole wait, although there were changes";
    seen += static_cast<int>(page->entities.size());
    position = page->through;
  }
  writer.join();
  EXPECT_EQ(seen.load(), kWrites);
}

TEST_F(TableRacesTest, AFollowerThatComesWhileOthersWriteMissesNothing) {
  std::atomic<bool> done{false};
  std::array<std::map<std::string, Version>, 2> written;
  std::vector<std::thread> writers;
  for (std::size_t w = 0; w < written.size(); ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; !done.load(); ++i) {
        const auto row = std::to_string(w) + "-" + std::to_string(i);
        written[w][row] = put(row);
      }
    });
  }
  std::vector<Position> begins;
  for (int i = 0; i < 30; ++i) {
    const auto begun = run_task(service.follow("acct", "people", following_of(std::to_string(i % 10)), true));
    if (begun) begins.push_back(begun->position);
    EXPECT_TRUE(begun.has_value());
    if (i % 3 == 2) EXPECT_TRUE(run_task(service.unfollow("acct", "people", std::to_string(i % 10))).has_value());
  }
  const auto last = run_task(service.follow("acct", "people", following_of("last"), true));
  put("after");
  done = true;
  for (auto& writer : writers) writer.join();
  std::map<std::string, Version> expected{};
  for (const auto& all : written) {
    for (const auto& [row, version] : all) {
      if (version > last->position.of(0)) expected[row] = version;
    }
  }
  std::map<std::string, Version> noted;
  ChangesPage page;
  page.through = last->position;
  do {
    page = *run_task(service.changed_entities("acct", "people", "last", page.through, page.skip, 100, Duration()));
    for (const auto& entity : page.entities) noted[entity.row_key] = entity.now->version;
  } while (page.more);
  ASSERT_EQ(noted.erase("after"), 1U);
  EXPECT_EQ(noted, expected);
  EXPECT_EQ(begins.size(), 30U);
}

TEST_F(TableRacesTest, WhoeverFollowsOrKeepsIsToldSoThoughOthersEndIt) {
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done.load()) {
      EXPECT_TRUE(run_task(service.unfollow("acct", "people", "x")).has_value());
      std::ignore = run_task(service.drop_feed("acct", "people"));  // it may not be there
    }
  });
  for (int i = 0; i < 300; ++i) {
    const auto followed = run_task(service.follow("acct", "people", following_of("x"), false));
    EXPECT_TRUE(followed.has_value()) << followed.error().message;
    const auto kept = run_task(service.put_feed("acct", "people", {.new_values = true}));
    EXPECT_TRUE(kept.has_value()) << kept.error().message;
  }
  done = true;
  other.join();
}

}  // namespace
}  // namespace tidemark::table_store
