// Tables over several shards: operations that span them, limits of one transaction, and drops when a shard fails or the
// process dies in between.
#include <gmock/gmock.h>

#include <atomic>
#include <set>
#include <thread>

#include "kv_test_support.h"
#include "table_fixture.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/model/steps.h"
#include "table_store/storage/table_check.h"
#include "table_store/storage/table_keys.h"
#include "tests/support/damage.h"
#include "tests/support/refusing_engine.h"
#include "tests/support/test_owners.h"

namespace tidemark::table_store {
namespace {

using enum MutationKind;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class ShardedTables : public testing::Test {
 protected:
  static constexpr std::size_t kShards = 4;

  ShardedTables() {
    for (auto& engine : engines_) shards_.all.push_back({engine, clock_});
    restart();
    create("people");
  }
  void restart() {
    service_.reset();
    service_ = std::make_unique<TableService>(shards_, clock_, *random_);
    EXPECT_TRUE(run_task(service_->finish_drops()));
  }
  void create(const std::string& table) { ASSERT_TRUE(run_task(service_->create_table("acct", table))); }
  Result<void> drop(const std::string& table = "people") { return run_task(service_->delete_table("acct", table)); }

  [[nodiscard]] std::size_t shard_of(const std::string& pk, const std::string& table = "people") const {
    return shards_.placement.of({"acct", table, pk});
  }
  /// Returns partitions of people, so many on each shard, by their shards.
  [[nodiscard]] std::vector<std::vector<std::string>> partitions(std::size_t of_each) const {
    std::vector<std::vector<std::string>> out(kShards);
    for (int i = 0; std::ranges::any_of(out, [&](const auto& some) { return some.size() < of_each; }); ++i) {
      auto& some = out[shard_of("p" + std::to_string(i))];
      if (some.size() < of_each) some.push_back("p" + std::to_string(i));
    }
    return out;
  }
  Result<void> put(const std::string& pk, const std::string& rk = "r", const std::string& table = "people") {
    auto done = run_task(service_->mutate("acct", table, pk, {change(kInsertOrReplace, rk)}, std::nullopt));
    if (!done) return fail(std::move(done.error()));
    return {};
  }
  bool there(const std::string& pk, const std::string& rk = "r", const std::string& table = "people") {
    const auto found = service_->get("acct", table, pk, rk);
    EXPECT_TRUE(found);
    return found && found->has_value();
  }
  void fill(std::size_t of_each = 1) {
    for (const auto& some : partitions(of_each)) {
      for (const auto& pk : some) ASSERT_TRUE(put(pk));
    }
  }
  Result<QueryResult> page(Query query, std::vector<std::string>& keys) {
    query.table = "people";
    return run_task(service_->query("acct", std::move(query), [&](const EntityView& entity) {
      keys.push_back(std::string(entity.partition_key) + "/" + std::string(entity.row_key));
      return true;
    }));
  }
  std::vector<std::string> all() {
    std::vector<std::string> keys;
    EXPECT_TRUE(page({}, keys));
    return keys;
  }
  std::vector<std::string> check() {
    std::vector<const kv::Engine*> engines;
    for (const auto& engine : engines_) engines.push_back(&engine);
    kv::CheckRun run;
    EXPECT_TRUE(check_tables(engines, shards_.placement, run));
    return kv::told(run.report());
  }
  std::size_t rows(const std::string& prefix) {
    std::size_t count = 0;
    for (auto& engine : engines_) count += kv::keys_under(engine, prefix).size();
    return count;
  }

  StandingClock clock_;
  std::unique_ptr<Random> random_ = make_seeded_random(7);
  std::array<kv::RefusingEngine, kShards> engines_;
  shards::Shards shards_{{}, shards::Placement(kShards, {2, 7, 1, 8})};
  std::unique_ptr<TableService> service_;
};

TEST_F(ShardedTables, HaveTheEntitiesOfAPartitionOnOneShard) {
  fill();
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(kv::keys_under(engines_[shard], "e").size(), 1U);
    EXPECT_TRUE(there(partitions(1)[shard].front()));
  }
  ASSERT_TRUE(run_task(service_->mutate("acct", "PEOPLE", partitions(1)[2].front(), {change(kInsert, "s")}, {})));
  EXPECT_EQ(kv::keys_under(engines_[2], "e").size(), 2U) << "however the table's name is written";
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(ShardedTables, TakeTheStepsOfATransactionShardByShard) {
  const auto places = partitions(2);
  ASSERT_TRUE(put(places[1][0]));
  const auto version = (*service_->get("acct", "people", places[1][0], "r"))->version;
  // Two steps on the shard of the guard, one on another, and one of a table of which no other shard knows yet.
  create("audit");
  const auto far = std::ranges::find_if(places[2], [&](const auto& pk) { return shard_of(pk, "audit") != 1; });
  ASSERT_NE(far, places[2].end());
  StepsRequest request;
  request.fence = {"op", 1, ""};
  request.deciding = Deciding::kGoesAhead;
  request.note = "note";
  request.at = PartitionName{"people", places[1][0]};
  request.guards = {{"people", places[1][0], "r", version}, {"people", places[3][0], "r", Version{1}}};
  request.steps = {{1, "people", places[1][0], change(kInsert, "a")},
                   {2, "people", places[1][1], change(kInsert, "b")},
                   {3, "people", places[2][0], change(kInsert, "c")},
                   {4, "audit", *far, change(kInsert, "d")}};
  const auto take = [&](StepsRequest wanted) {
    auto done = run_task(service_->take_steps("acct", std::move(wanted)));
    EXPECT_TRUE(done) << done.error().message;
    return done ? std::get<StepsTaken>(*done) : StepsTaken{};
  };
  EXPECT_EQ(take(request).taken, 2U) << "those on the shard, whose guard holds; the other guard is elsewhere";
  EXPECT_FALSE(there(places[2][0], "c"));
  for (std::uint32_t next = 2; next < 4;) {
    StepsRequest rest;
    rest.fence = {"op", 1, ""};
    rest.steps.assign(request.steps.begin() + next, request.steps.end());
    rest.at = PartitionName{rest.steps.front().table, rest.steps.front().partition_key};
    next += take(rest).taken;
  }
  EXPECT_TRUE(there(places[2][0], "c") && there(*far, "d", "audit"));
  const auto opened = run_task(service_->open_operation("acct", "op", 2));
  ASSERT_TRUE(opened);
  EXPECT_EQ(opened->steps.size(), 4U) << "of all shards";
  EXPECT_EQ(opened->decision->note, "note");
  // Once the epoch is raised, the earlier attempt is refused on every shard.
  for (std::size_t i = 0; i < request.steps.size(); ++i) {
    StepsRequest late;
    late.fence = {"op", 1, ""};
    late.steps = {request.steps[i]};
    late.steps[0].number = 9;
    late.at = PartitionName{late.steps[0].table, late.steps[0].partition_key};
    EXPECT_TRUE(run_task(service_->take_steps("acct", late)).failed_with(ErrorCode::kFenced)) << i;
  }
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(ShardedTables, AreQueriedInKeyOrderAndInPages) {
  std::set<std::string> expected;
  for (const auto& some : partitions(8)) {
    for (const auto& pk : some) {
      for (const auto* rk : {"a", "b", "c"}) {
        ASSERT_TRUE(put(pk, rk));
        expected.insert(pk + "/" + rk);
      }
    }
  }
  EXPECT_EQ(all(), std::vector<std::string>(expected.begin(), expected.end()));
  std::vector<std::string> paged;
  Query query;
  query.top = 7;
  do {
    auto done = page(query, paged);
    ASSERT_TRUE(done);
    query.from = done->next;
  } while (query.from);
  EXPECT_EQ(paged, std::vector<std::string>(expected.begin(), expected.end()));
}

TEST_F(ShardedTables, AShardThatIsNotAskedForNeedNotAnswer) {
  const auto places = partitions(1);
  fill();
  std::vector<std::string> keys;
  Query query;
  query.filter = *Filter::parse("PartitionKey eq '" + places[3].front() + "'");
  ASSERT_TRUE(page(query, keys));
  EXPECT_THAT(keys, ElementsAre(places[3].front() + "/r"));
  engines_[2].refusing = true;
  EXPECT_TRUE(put(places[1].front(), "s"));
  EXPECT_TRUE(put(places[2].front(), "s").failed_with(ErrorCode::kServerBusy));
}

TEST_F(ShardedTables, SayThatThereIsNoSuchTable) {
  for (const auto& some : partitions(1)) {
    EXPECT_TRUE(put(some.front(), "r", "nobody").failed_with(ErrorCode::kTableNotFound));
    EXPECT_TRUE(service_->get("acct", "nobody", some.front(), "r").failed_with(ErrorCode::kTableNotFound));
  }
}

TEST_F(ShardedTables, ChangePartitionsOfAllShardsInOneCall) {
  std::vector<PartitionMutations> changes;
  for (const auto& some : partitions(3)) {
    for (const auto& pk : some) changes.push_back({"people", pk, {change(kInsert, "r")}});
  }
  changes.push_back({"nobody", partitions(1)[1].front(), {change(kInsert, "r")}});
  const auto done = run_task(service_->mutate_all("acct", changes, Fence{"op", 1, "done"}));
  ASSERT_TRUE(done);
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) EXPECT_TRUE((*done)[i]) << i;
  EXPECT_TRUE(done->back().failed_with(ErrorCode::kTableNotFound));
  EXPECT_EQ(all().size(), 3 * kShards);
  EXPECT_EQ(run_task(service_->read_operation("acct", "op"))->counter("done"), 3 * kShards);
}

TEST_F(ShardedTables, AreDroppedOnEveryShard) {
  fill(3);
  ASSERT_TRUE(drop());
  for (const auto& some : partitions(1)) {
    EXPECT_TRUE(put(some.front()).failed_with(ErrorCode::kTableNotFound));
    EXPECT_TRUE(service_->get("acct", "people", some.front(), "r").failed_with(ErrorCode::kTableNotFound));
  }
  EXPECT_EQ(rows("e") + rows("d") + rows("c"), 0U) << "all of it is collected";
  create("people");
  EXPECT_THAT(all(), IsEmpty());
  fill();
  EXPECT_EQ(all().size(), kShards);
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(ShardedTables, ADropThatWasCutOffIsFinishedByTheNextProcess) {
  for (std::size_t failing = 0; failing < kShards; ++failing) {
    fill();
    // The first shard fails at the end of the drop, not at its beginning.
    if (failing == 0) {
      engines_[kShards - 1].before_next = [&] { engines_[0].refusing = true; };
    } else {
      engines_[failing].refusing = true;
    }
    EXPECT_TRUE(drop().failed_with(ErrorCode::kServerBusy)) << failing;
    engines_[failing].refusing = false;
    EXPECT_FALSE(run_task(service_->create_table("acct", "people"))) << "the name is not free yet";
    std::vector<std::string> none;
    EXPECT_TRUE(page({}, none).failed_with(ErrorCode::kTableNotFound)) << "nobody sees half of a table";
    EXPECT_THAT(check(), IsEmpty());
    restart();
    create("people");
    EXPECT_THAT(all(), IsEmpty()) << failing;
    EXPECT_TRUE(run_task(service_->collect_garbage()));
    EXPECT_EQ(rows("e"), 0U);
    EXPECT_THAT(check(), IsEmpty());
  }
}

TEST_F(ShardedTables, WhoeverMakesTheTableAgainFinishesADropThatWasLeft) {
  fill();
  engines_[2].refusing = true;
  EXPECT_FALSE(drop());
  engines_[2].refusing = false;
  clock_.time += std::chrono::seconds(2);
  create("people");
  EXPECT_THAT(all(), IsEmpty());
}

// Operations of jobs.

TEST_F(ShardedTables, AStaleWorkerWritesNowhere) {
  const auto places = partitions(2);
  const auto put_as = [&](std::uint64_t epoch, const std::string& pk) {
    return run_task(
        service_->mutate("acct", "people", pk, {change(kInsertOrReplace, "r")}, Fence{"op", epoch, "done"}));
  };
  ASSERT_TRUE(run_task(service_->open_operation("acct", "op", 1)));
  ASSERT_TRUE(put_as(1, places[0].front()));
  ASSERT_TRUE(put_as(1, places[1].front()));
  ASSERT_TRUE(run_task(service_->open_operation("acct", "op", 2)));
  for (const auto& some : places) {
    const auto stale = put_as(1, some.back());
    EXPECT_TRUE(!stale && stale.error().code == ErrorCode::kFenced);
    EXPECT_TRUE(put_as(2, some.back()));
  }
  EXPECT_EQ(run_task(service_->read_operation("acct", "op"))->counter("done"), 2 + kShards);
  const auto closed = run_task(service_->close_operation("acct", "op", 2));
  ASSERT_TRUE(closed);
  EXPECT_TRUE(closed->closed);
  for (const auto& some : places) EXPECT_FALSE(put_as(2, some.front()));
  ASSERT_TRUE(run_task(service_->forget_operation("acct", "op")));
  EXPECT_EQ(rows("o"), 0U);
}

TEST_F(ShardedTables, AFencedDropIsCountedOnce) {
  fill();
  ASSERT_TRUE(run_task(service_->delete_table_fenced("acct", "people", {"op", 3, "done"})));
  EXPECT_EQ(run_task(service_->read_operation("acct", "op"))->counter("done"), 1U);
  create("people");
  EXPECT_TRUE(
      run_task(service_->delete_table_fenced("acct", "people", {"op", 2, "done"})).failed_with(ErrorCode::kFenced));
  EXPECT_TRUE(put(partitions(1)[1].front()));
}

TEST_F(ShardedTables, AMoveHappensOnOneShardOrNotAtAll) {
  create("former");
  std::size_t moved = 0, refused = 0;
  for (int i = 0; i < 200; ++i) {
    const auto pk = "m" + std::to_string(i);
    const auto operation = "op" + std::to_string(i);
    ASSERT_TRUE(put(pk));
    ASSERT_TRUE(put(pk, "other", "former"));
    const auto done =
        run_task(service_->move_all("acct", {Move{"people", "former", pk, "r", false, {operation, 1, "done"}, {}}}));
    ASSERT_TRUE(done);
    const bool one_shard =
        shard_of(pk) == shard_of(pk, "former") && shard_of(pk) == shards_.placement.of({"acct", operation});
    ASSERT_EQ(done->front().has_value(), one_shard);
    EXPECT_EQ(there(pk), !one_shard);
    EXPECT_EQ(there(pk, "r", "former"), one_shard);
    ++(one_shard ? moved : refused);
    const auto ledger = run_task(service_->read_operation("acct", operation));
    ASSERT_TRUE(ledger);
    EXPECT_EQ(ledger->closed, one_shard);
    if (!one_shard) {
      EXPECT_TRUE(done->front().failed_with(ErrorCode::kNotImplemented));
    }
  }
  EXPECT_GT(moved, 0U);
  EXPECT_GT(refused, 0U);
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(ShardedTables, FindRowsOfAllShardsInOneCall) {
  fill();
  std::vector<RowSearch> searches;
  for (const auto& some : partitions(1)) searches.push_back({some.front(), "a", ""});
  const auto found = run_task(service_->find_rows("acct", "people", searches));
  ASSERT_TRUE(found);
  ASSERT_EQ(found->rows.size(), kShards);
  for (std::size_t i = 0; i < kShards; ++i) {
    ASSERT_TRUE(found->rows[i]);
    EXPECT_EQ(found->rows[i]->partition_key, searches[i].partition_key);
    EXPECT_LE(found->rows[i]->version, found->as_of[i]);
  }
}

TEST_F(ShardedTables, TheCheckTellsWhatIsOnTheWrongShard) {
  fill();
  const auto key = kv::keys_under(engines_[1], "e").front();
  kv::put_row(engines_[2], key, **engines_[1].get(key));
  EXPECT_THAT(check(), ElementsAre("reference: the entity is on another shard than its name says"));
  kv::erase_row(engines_[2], key);
  kv::put_row(engines_[3], table_key("acct", "people"), **engines_[0].get(table_key("acct", "people")));
  EXPECT_THAT(check(), ElementsAre("figure: its generation is beyond the last one given out",
                                   "stray: belongs on the first shard"));
  kv::erase_row(engines_[3], table_key("acct", "people"));
  kv::erase_row(engines_[0], table_key("acct", "people"));
  EXPECT_THAT(check(), ElementsAre("reference: is a copy of what the catalogue does not say",
                                   "reference: the entity belongs to no table"));
}

/// On real engines with their threads: writers on all shards while the table is dropped and made again. Every write
/// either succeeds or finds no table, and in the end there are no stray rows.
TEST(ShardedTablesAtOnce, DropsAndWritesLeaveNothingBehind) {
  constexpr std::size_t kShards = 3;
  constexpr int kWriters = 3, kDrops = 60;
  kv::testing::TempDir directory;
  const auto clock = make_system_clock();
  const auto random = make_seeded_random(3);
  std::vector<std::unique_ptr<kv::Engine>> engines;
  shards::Shards shards{{}, shards::Placement(kShards, {1, 6})};
  for (std::size_t shard = 0; shard < kShards; ++shard) {
    auto options = kv::testing::small_options(directory.path() / std::to_string(shard));
    options.durability = kv::Durability::kOs;
    shards.all.push_back({*engines.emplace_back(std::move(*kv::open_rocksdb(options))), *clock});
  }
  TableService service(shards, *clock, *random);
  std::atomic<bool> over{false};
  std::atomic<int> written{0};
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < kWriters; ++writer) {
    writers.emplace_back([&, writer] {
      for (int i = 0; !over.load(); ++i) {
        const auto pk = "p" + std::to_string(i % 11);
        const auto row = std::to_string(writer);
        const auto put = run_task(service.mutate("acct", "people", pk, {change(kInsertOrReplace, row)}, std::nullopt));
        EXPECT_TRUE(put || put.error().code == ErrorCode::kTableNotFound) << put.error().detail;
        const auto got = service.get("acct", "people", pk, row);
        EXPECT_TRUE(got || got.failed_with(ErrorCode::kTableNotFound));
        if (put) ++written;
      }
    });
  }
  for (int i = 0; i < kDrops; ++i) {
    EXPECT_TRUE(run_task(service.create_table("acct", "people")));
    for (const auto before = written.load(); written.load() < before + kWriters;) std::this_thread::yield();
    EXPECT_TRUE(run_task(service.delete_table("acct", "people")));
  }
  over.store(true);
  writers.clear();
  EXPECT_TRUE(run_task(service.collect_garbage()));
  std::vector<const kv::Engine*> all;
  for (const auto& engine : engines) {
    all.push_back(engine.get());
    for (const auto* prefix : {"e", "c", "d", "t"}) EXPECT_THAT(kv::keys_under(*engine, prefix), IsEmpty()) << prefix;
  }
  kv::CheckRun run;
  EXPECT_TRUE(check_tables(all, shards.placement, run));
  EXPECT_THAT(kv::told(run.report()), IsEmpty());
  for (const auto& engine : engines) engine->drain();
}

/// Two processes that share the shards: at first one of them has them all.
class SharedTables : public ShardedTables {
 protected:
  SharedTables() {
    for (auto* process : {&one_, &two_}) {
      auto shards = shards_;
      shards.peers = &process->owners;
      process->service.emplace(shards, clock_, *random_);
      process->owners.dispatch = make_table_dispatch(*process->service);
    }
    for (std::size_t shard = 0; shard < kShards; ++shard) take(shard, one_);
  }

  struct Process {
    explicit Process(kv::TestOwners::Places& places) : owners(places) {}
    kv::TestOwners owners;
    std::optional<TableService> service;
  };
  void take(std::size_t shard, Process& process) {
    places_[shard] = &process.owners;
    EXPECT_TRUE(run_task(process.service->gained(shard)));
  }
  static Result<void> put(Process& process, const std::string& pk) {
    auto done = run_task(process.service->mutate("acct", "people", pk, {change(kInsertOrReplace, "r")}, std::nullopt));
    return done ? Result<void>() : fail(std::move(done.error()));
  }

  kv::TestOwners::Places places_ = kv::TestOwners::Places(kShards);
  Process one_{places_}, two_{places_};
};

/// It stood still while another process took all its shards, dropped the table, and did not get to erase the rows.
TEST_F(SharedTables, AFormerOwnerDoesNotReadATableThatWasDroppedMeanwhile) {
  for (const auto& some : partitions(1)) {
    ASSERT_TRUE(put(one_, some.front()));
    ASSERT_TRUE(*one_.service->get("acct", "people", some.front(), "r"));
  }
  for (auto& engine : engines_) engine.keeping = true;
  for (std::size_t shard = 0; shard < kShards; ++shard) take(shard, two_);
  ASSERT_TRUE(run_task(two_.service->delete_table("acct", "people")));
  for (const auto& some : partitions(1)) {
    EXPECT_TRUE(one_.service->get("acct", "people", some.front(), "r").failed_with(ErrorCode::kTableNotFound));
  }
}

TEST_F(SharedTables, WhatAProcessRemembersGoesWithTheShard) {
  const auto pk = partitions(1)[2].front();
  ASSERT_TRUE(put(one_, pk));
  for (auto& engine : engines_) engine.keeping = true;
  take(2, two_);
  one_.service->lost(2);
  ASSERT_TRUE(run_task(one_.service->delete_table("acct", "people")));
  EXPECT_TRUE(two_.service->get("acct", "people", pk, "r").failed_with(ErrorCode::kTableNotFound));
  engines_[2].keeping = false;  // the next owner of the shard erases the rest
  take(2, one_);
  two_.service->lost(2);
  ASSERT_TRUE(run_task(one_.service->create_table("acct", "people")));
  EXPECT_FALSE(*one_.service->get("acct", "people", pk, "r"));
  ASSERT_TRUE(put(one_, pk));
  EXPECT_TRUE(*two_.service->get("acct", "people", pk, "r")) << "any process reads any shard";
}

/// The clock stands, so no waiting reader looks again because time has passed.
TEST_F(SharedTables, WhoeverWaitsForChangesIsToldOfThoseThatAnotherProcessMakes) {
  take(2, two_);
  one_.service->lost(2);
  Following following;
  following.follower = "index";
  auto position = run_task(one_.service->follow("acct", "people", following, false))->position;
  ASSERT_TRUE(run_task(one_.service->put_feed("acct", "people", {})));
  asio::io_context io;
  const auto run = [&io] {
    io.restart();
    io.poll();
  };
  for (const std::size_t shard : {2U, 1U}) {
    auto& writer = shard == 2 ? two_ : one_;
    auto& reader = shard == 2 ? one_ : two_;
    const auto pk = partitions(1)[shard].front();
    std::vector<std::string> told;
    asio::co_spawn(
        io, reader.service->changed_entities("acct", "people", "index", position, {}, 10, std::chrono::seconds(5)),
        [&](const std::exception_ptr&, const Result<ChangesPage>& page) {
          told.push_back(page->entities.front().partition_key);
          position = page->through;
        });
    asio::co_spawn(
        io, reader.service->changes("acct", "people", {.start = FeedStart::kNow, .wait = std::chrono::seconds(5)}),
        [&](const std::exception_ptr&, const Result<FeedPage>& page) {
          told.push_back(page->changes.front().partition_key);
        });
    run();
    EXPECT_THAT(told, IsEmpty());
    ASSERT_TRUE(put(writer, pk));
    run();
    EXPECT_THAT(told, ElementsAre(pk, pk));
  }
  for (auto* process : {&one_, &two_}) process->service->begin_shutdown();
  run();
}

TEST_F(SharedTables, EachOwnerErasesWhatItsShardsHaveOfADroppedTable) {
  for (const auto& some : partitions(1)) ASSERT_TRUE(put(one_, some.front()));
  for (const std::size_t shard : {1U, 3U}) {
    take(shard, two_);
    one_.service->lost(shard);
  }
  ASSERT_TRUE(run_task(one_.service->delete_table("acct", "people")));
  EXPECT_EQ(rows("e"), 0U);
  EXPECT_EQ(rows("d"), 0U);
}

/// The home would not raise the epoch on a shard that it does not list, and so a stale worker could write there.
TEST_F(SharedTables, AnOperationWritesNothingOnAShardThatItsHomeCouldNotList) {
  const Fence stale{"op", 1, "done"};
  const auto home = one_.service->home_of("acct", stale.operation_id);
  const auto shard = (home + 1) % kShards;
  ASSERT_TRUE(run_task(one_.service->open_operation("acct", stale.operation_id, stale.epoch)));
  std::vector<PartitionMutations> changes;
  const auto all = partitions(3);
  for (const auto& pk : all[shard]) changes.push_back({"people", pk, {change(kInsertOrReplace, "r")}});
  places_[home] = nullptr;
  const auto refused = run_task(one_.service->mutate_all("acct", changes, stale));
  ASSERT_TRUE(refused);
  for (const auto& outcome : *refused) EXPECT_TRUE(outcome.failed_with(ErrorCode::kServerBusy));

  take(home, two_);
  ASSERT_TRUE(run_task(two_.service->open_operation("acct", stale.operation_id, 2)));
  const auto fenced = run_task(one_.service->mutate_all("acct", changes, stale));
  ASSERT_TRUE(fenced);
  for (const auto& outcome : *fenced) EXPECT_TRUE(outcome.failed_with(ErrorCode::kFenced));
  EXPECT_EQ(rows("e"), 0U);
}

TEST_F(SharedTables, ADropThatACrashCutOffIsFinishedByTheNextOwnerOfTheCatalogue) {
  for (const auto& some : partitions(1)) ASSERT_TRUE(put(one_, some.front()));
  places_[3] = nullptr;
  EXPECT_TRUE(run_task(one_.service->delete_table("acct", "people")).failed_with(ErrorCode::kServerBusy));
  for (const std::size_t shard : {3U, 2U, 1U, 0U}) take(shard, two_);
  EXPECT_TRUE(run_task(two_.service->create_table("acct", "people"))) << "the name is free";
  for (const auto& some : partitions(1)) EXPECT_FALSE(*two_.service->get("acct", "people", some.front(), "r"));
  EXPECT_THAT(check(), IsEmpty());
}

}  // namespace
}  // namespace tidemark::table_store
