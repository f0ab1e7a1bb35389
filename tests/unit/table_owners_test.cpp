// Two processes that share the shards of the tables, both in this one: the process that owns the partition does
// everything that a worker asks of either, and operations that span shards of both are whole.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "common/base/log.h"
#include "common/postgres/shard_owners.h"
#include "common/rpc/forwarded.h"
#include "common/rpc/zmq_transport.h"
#include "common/shards/shard_router.h"
#include "table_store/client/table_client.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/served_calls.h"
#include "table_store/storage/table_service.h"
#include "tests/support/seeded_random.h"
#include "tests/support/temporary_postgres.h"

namespace tidemark::table_store {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

constexpr std::size_t kShards = 4;
const shards::Placement kPlacement(kShards, shards::Placement::Key{1, 2, 3});

/// One process, with everything that it has around its table service.
class Process {
 public:
  Process(kv::PostgresOptions options, const std::string& name, const std::string& directory, std::uint64_t seed)
      : random_(seed),
        owners_(std::move(kv::ShardOwners::open(std::move(options), name, kShards).value())),
        engines_(owners_->make_engines()),
        router_(*owners_, *clock_, io_.get_executor(), [](const auto& address) { return rpc::connect(address); }),
        service_(shards(), *clock_, random_),
        endpoint_("ipc://" + directory + "/" + name) {
    const auto dispatch = router_.around(make_table_dispatch(service_));
    server_ = std::move(rpc::serve({.endpoint = endpoint_}, io_.get_executor(), dispatch).value());
    const auto gained = [this](std::size_t shard) { asio::co_spawn(io_, service_.gained(shard), asio::detached); };
    owners_
        ->start(endpoint_, {.gained = gained,
                            .lost = [this](auto shard) { service_.lost(shard); },
                            .seen = [this] { router_.seen(); },
                            .moved = [this] { router_.moved(); }})
        .value();
    link_ = rpc::connect(endpoint_);
  }
  ~Process() {
    service_.begin_shutdown();
    server_->stop();
    guard_.reset();
    io_.stop();
    thread_.join();
    owners_->stop();
    router_.close();
    link_.reset();
    server_.reset();
  }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  template <class T>
  T run(Task<T> task) {
    return asio::co_spawn(io_, std::move(task), asio::use_future).get();
  }
  [[nodiscard]] rpc::Transport& link() { return *link_; }
  [[nodiscard]] TableService& service() { return service_; }
  [[nodiscard]] bool here(std::size_t shard) const { return router_.here(shard); }
  [[nodiscard]] std::size_t served() const {
    std::size_t count = 0;
    for (std::size_t shard = 0; shard < kShards; ++shard) count += here(shard) ? 1 : 0;
    return count;
  }

 private:
  shards::Shards shards() {
    shards::Shards all{{}, kPlacement, &router_};
    for (const auto& engine : engines_) all.all.push_back({*engine, *clock_});
    return all;
  }

  asio::io_context io_;
  asio::executor_work_guard<asio::io_context::executor_type> guard_{io_.get_executor()};
  const std::unique_ptr<Clock> clock_ = make_system_clock();
  SeededRandom random_;
  const std::unique_ptr<kv::ShardOwners> owners_;
  const std::vector<std::unique_ptr<kv::ClaimedEngine>> engines_;
  shards::ShardRouter router_;
  TableService service_;
  const std::string endpoint_;
  std::unique_ptr<rpc::Server> server_;
  std::unique_ptr<rpc::Transport> link_;
  std::thread thread_{[this] { io_.run(); }};
};

class TableOwnersTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto* const server = testing::TemporaryPostgres::shared();
    if (server == nullptr) GTEST_SKIP() << testing::TemporaryPostgres::kAbsent;
    set_log_level(LogLevel::kWarning);
    auto name = (std::filesystem::temp_directory_path() / "tidemark-owners-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
    kv::PostgresOptions options;
    options.url = server->url();
    options.schema = server->new_schema();
    options.lease = 6'000ms;
    one_ = std::make_unique<Process>(options, "one", directory_, 1);
    two_ = std::make_unique<Process>(options, "two", directory_, 2);
    ASSERT_TRUE(eventually([&] { return one_->served() == 2 && two_->served() == 2; }));
    for (int i = 0; places_.size() < kShards; ++i) {
      const auto partition = "p" + std::to_string(i);
      places_.try_emplace(kPlacement.of({"acc", "people", partition}), partition);
    }
    ASSERT_TRUE(one_->run(TableClient(one_->link(), "acc").create_table("People")));
  }
  void TearDown() override {
    two_.reset();
    one_.reset();
    std::error_code ignored;
    if (!directory_.empty()) std::filesystem::remove_all(directory_, ignored);
  }

  template <class Condition>
  static bool eventually(Condition condition) {
    const auto give_up = std::chrono::steady_clock::now() + 60s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > give_up) return false;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  [[nodiscard]] std::vector<Process*> both() const { return {one_.get(), two_.get()}; }
  static std::vector<Mutation> put(const std::string& row, std::int32_t n) {
    Mutation mutation;
    mutation.kind = MutationKind::kInsertOrReplace;
    mutation.row_key = row;
    mutation.properties = {{"N", Value(n)}};
    return {mutation};
  }
  static std::int32_t n_of(const std::vector<Property>& properties) {
    return properties.size() == 1 ? std::get<std::int32_t>(properties.front().value) : 0;
  }
  [[nodiscard]] std::vector<PartitionMutations> on_all(const std::string& row, std::int32_t n) const {
    std::vector<PartitionMutations> all;
    for (const auto& [shard, partition] : places_) all.push_back({"people", partition, put(row, n)});
    return all;
  }

  static std::size_t entities(Process& process) {
    QueryRequest request;
    request.table = "people";
    request.top = 1000;
    return process.run(TableClient(process.link(), "acc").query(request))->entities.size();
  }

  std::string directory_;
  std::unique_ptr<Process> one_, two_;
  std::map<std::size_t, std::string> places_;  // a partition on each shard
};

TEST_F(TableOwnersTest, EveryCallGoesToWhoeverHasThePartition) {
  for (auto* process : both()) {
    TableClient client(process->link(), "acc");
    for (const auto& [shard, partition] : places_) {
      ASSERT_TRUE(process->run(client.mutate("people", partition, put("r", 1), std::nullopt)));
      const auto found = process->run(client.get("people", partition, "r"));
      ASSERT_TRUE(found && *found);
      const auto both_rows = process->run(client.get_all("people", partition, {"r", "nobody"}));
      ASSERT_TRUE(both_rows);
      EXPECT_TRUE(both_rows->at(0) && !both_rows->at(1));
    }
    EXPECT_EQ(entities(*process), kShards);
    EXPECT_TRUE(*process->run(client.table_exists("people")));
    EXPECT_TRUE(process->run(client.create_table("people")).failed_with(ErrorCode::kTableAlreadyExists));
  }
}

TEST_F(TableOwnersTest, ChangesOfSeveralPartitionsAreMadeByAllTheirOwners) {
  for (auto* process : both()) {
    TableClient client(process->link(), "acc");
    auto changes = on_all("r", 7);
    changes.push_back({"nowhere", "p", put("r", 7)});
    const auto outcomes = process->run(client.mutate_all(changes, std::nullopt));
    ASSERT_TRUE(outcomes);
    ASSERT_EQ(outcomes->size(), kShards + 1);
    for (std::size_t i = 0; i < kShards; ++i) EXPECT_TRUE(outcomes->at(i));
    EXPECT_TRUE(outcomes->back().failed_with(ErrorCode::kTableNotFound));
    EXPECT_TRUE(process->run(client.mutate_all({}, std::nullopt)).failed_with(ErrorCode::kInvalidInput));
  }
}

TEST_F(TableOwnersTest, AnOperationHoldsOnTheShardsOfBoth) {
  TableClient at_one(one_->link(), "acc"), at_two(two_->link(), "acc");
  ASSERT_TRUE(one_->run(at_one.open_operation("op", 1, 0)));
  ASSERT_TRUE(one_->run(at_one.mutate_all(on_all("r", 1), Fence{"op", 1, "done"})));
  ASSERT_TRUE(two_->run(at_two.open_operation("op", 2, 0)));
  for (const auto& outcome : *one_->run(at_one.mutate_all(on_all("r", 2), Fence{"op", 1, "done"}))) {
    EXPECT_TRUE(outcome.failed_with(ErrorCode::kFenced));
  }
  ASSERT_TRUE(two_->run(at_two.count(Fence{"op", 2, "skipped"}, 3)));
  for (const auto& outcome : *two_->run(at_two.mutate_all(on_all("s", 2), Fence{"op", 2, "done"}))) {
    EXPECT_TRUE(outcome);
  }
  const auto closed = one_->run(at_one.close_operation("op", 2, 0));
  ASSERT_TRUE(closed);
  EXPECT_EQ(closed->counter("done"), 2 * kShards);
  EXPECT_EQ(closed->counter("skipped"), 3U);
  for (const auto& outcome : *two_->run(at_two.mutate_all(on_all("s", 3), Fence{"op", 3, "done"}))) {
    EXPECT_TRUE(outcome.failed_with(ErrorCode::kFenced));
  }
  for (auto* process : both()) {
    TableClient client(process->link(), "acc");
    EXPECT_TRUE(process->run(client.read_operation("op"))->closed);
  }
  ASSERT_TRUE(two_->run(at_two.forget_operation("op")));
  EXPECT_EQ(one_->run(at_one.read_operation("op"))->epoch, 0U);
}

TEST_F(TableOwnersTest, ATableIsDroppedForBoth) {
  for (auto* process : both()) {
    TableClient client(process->link(), "acc");
    ASSERT_TRUE(process->run(client.mutate_all(on_all("r", 1), std::nullopt)));
    ASSERT_TRUE(process->run(client.delete_table_fenced("people", Fence{"drop", 1, "dropped"})) ||
                process->run(client.delete_table("people")));
    for (auto* other : both()) {
      TableClient asking(other->link(), "acc");
      for (const auto& [shard, partition] : places_) {
        EXPECT_TRUE(other->run(asking.get("people", partition, "r")).failed_with(ErrorCode::kTableNotFound));
        EXPECT_TRUE(other->run(asking.mutate("people", partition, put("r", 2), std::nullopt))
                        .failed_with(ErrorCode::kTableNotFound));
      }
    }
    ASSERT_TRUE(process->run(client.create_table("People")));
    EXPECT_EQ(entities(*process), 0U);
  }
}

TEST_F(TableOwnersTest, WhatIsNotOnOneShardHereIsNotMovedAtOnce) {
  TableClient client(one_->link(), "acc");
  ASSERT_TRUE(one_->run(client.create_table("Former")));
  ASSERT_TRUE(one_->run(client.mutate_all(on_all("r", 1), std::nullopt)));
  for (const auto& [shard, partition] : places_) {
    Move move;
    move.source = "people";
    move.destination = "former";
    move.partition_key = partition;
    move.row_key = "r";
    move.fence = {"move " + partition, 1, "moved"};
    const auto moved = one_->run(client.move_all({move}));
    ASSERT_TRUE(moved);
    if (!one_->here(shard)) EXPECT_TRUE(moved->front().failed_with(ErrorCode::kNotImplemented));
    const auto left = one_->run(client.get("people", partition, "r"));
    EXPECT_EQ(left->has_value(), !moved->front().has_value());
  }
}

TEST_F(TableOwnersTest, AFollowerSeesTheChangesOfBoth) {
  TableClient at_one(one_->link(), "acc"), at_two(two_->link(), "acc");
  Following following;
  following.follower = "index";
  following.properties = {"N"};
  const auto status = two_->run(at_two.follow("people", following, false, std::nullopt, std::nullopt));
  ASSERT_TRUE(status);
  ASSERT_EQ(status->position.shards.size(), kShards);
  ASSERT_TRUE(one_->run(at_one.mutate_all(on_all("r", 1), std::nullopt)));
  ASSERT_TRUE(two_->run(at_two.mutate_all(on_all("r", 2), std::nullopt)));

  auto position = status->position;
  for (auto* reader : both()) {
    TableClient client(reader->link(), "acc");
    const auto page = reader->run(client.changed_entities("people", "index", position, {}, 100, 0s, {}));
    ASSERT_TRUE(page);
    ASSERT_EQ(page->entities.size(), kShards);
    for (const auto& entity : page->entities) {
      ASSERT_TRUE(entity.now);
      EXPECT_EQ(n_of(entity.now->properties), 2);
      EXPECT_TRUE(entity.appeared);
      ASSERT_EQ(entity.before.size(), 1U);
      EXPECT_EQ(n_of(entity.before.front()), 1);
    }
    if (reader == both().back()) position = page->through;
  }
  ASSERT_TRUE(one_->run(at_one.acknowledge("people", "index", position)));
  for (auto* process : both()) {
    const auto known = process->run(TableClient(process->link(), "acc").followers("people"));
    ASSERT_TRUE(known);
    ASSERT_EQ(known->size(), 1U);
    EXPECT_EQ(known->front().changes_behind, 0U);
    EXPECT_FALSE(known->front().stale);
  }

  ASSERT_TRUE(one_->run(at_one.unfollow("people", "index")));
  EXPECT_TRUE(two_->run(at_two.acknowledge("people", "index", position)).failed_with(ErrorCode::kFollowerNotFound));
  EXPECT_TRUE(two_->run(at_two.followers("people"))->empty());
}

TEST_F(TableOwnersTest, WhoeverWaitsForChangesSeesThoseOfTheOtherToo) {
  Following following;
  following.follower = "index";
  auto position =
      one_->run(TableClient(one_->link(), "acc").follow("people", following, false, std::nullopt, std::nullopt))
          ->position;
  std::int32_t n = 0;
  for (const auto& [shard, partition] : places_) {
    auto& writer = one_->here(shard) ? *one_ : *two_;
    auto& reader = one_->here(shard) ? *two_ : *one_;
    auto waiting = std::async(std::launch::async, [&] {
      return reader.run(
          TableClient(reader.link(), "acc").changed_entities("people", "index", position, {}, 100, 5s, {}));
    });
    ASSERT_TRUE(writer.run(TableClient(writer.link(), "acc").mutate("people", partition, put("r", ++n), std::nullopt)));
    const auto page = waiting.get();
    ASSERT_TRUE(page);
    ASSERT_EQ(page->entities.size(), 1U);
    EXPECT_EQ(page->entities.front().partition_key, partition);
    position = page->through;
  }
}

TEST_F(TableOwnersTest, AFeedHasTheChangesOfBoth) {
  TableClient at_one(one_->link(), "acc"), at_two(two_->link(), "acc");
  ASSERT_TRUE(one_->run(at_one.put_feed("people", {.new_values = true})));
  FeedRequest request{.start = FeedStart::kOldest, .new_values = true};
  ASSERT_TRUE(one_->run(at_one.mutate_all(on_all("r", 1), std::nullopt)));
  ASSERT_TRUE(two_->run(at_two.mutate_all(on_all("r", 2), std::nullopt)));
  for (auto* reader : both()) {
    const auto page = reader->run(TableClient(reader->link(), "acc").changes("people", request));
    ASSERT_TRUE(page);
    EXPECT_EQ(page->changes.size(), 2 * kShards);
    std::map<std::string, std::vector<std::int32_t>> told;
    for (const auto& change : page->changes) told[change.partition_key].push_back(n_of(*change.after));
    for (const auto& [shard, partition] : places_) {
      EXPECT_EQ(told[partition], (std::vector{1, 2}));
    }
    request.start = FeedStart::kPlace;
    request.place = page->begin;
  }
  ASSERT_TRUE(two_->run(at_two.drop_feed("people")));
  EXPECT_TRUE(one_->run(at_one.changes("people", request)).failed_with(ErrorCode::kFeedNotFound));
}

/// Requests over HTTP make these calls, in the process to which they come.
TEST_F(TableOwnersTest, EitherProcessCarriesOutTheCallsOfRequests) {
  for (auto* process : both()) {
    auto& service = process->service();
    const auto name = std::string(process == one_.get() ? "One" : "Two");
    ASSERT_TRUE(process->run(service.call(calls::CreateTable{"acc", name})));
    EXPECT_TRUE(
        process->run(service.call(calls::CreateTable{"acc", name})).failed_with(ErrorCode::kTableAlreadyExists));
    for (const auto& [shard, partition] : places_) {
      auto two = put("r", 1);
      two.push_back(put("s", 2).front());
      const auto done = process->run(service.mutate_anywhere("acc", name, partition, two, std::nullopt));
      ASSERT_TRUE(done) << done.error().message;
      ASSERT_EQ(done->outcomes.size(), 2U);
      EXPECT_EQ(done->blocks.at(1), property_block(two.at(1).properties));
      two.at(1).kind = MutationKind::kInsert;
      const auto refused = process->run(service.mutate_anywhere("acc", name, partition, two, std::nullopt));
      ASSERT_TRUE(refused.failed_with(ErrorCode::kEntityAlreadyExists));
      EXPECT_EQ(refused.error().index, 1U);
      const auto found = process->run(service.call(calls::Get{"acc", name, partition, "s"}));
      ASSERT_TRUE(found && *found);
      EXPECT_EQ((*found)->version, done->outcomes.at(1).version);
    }
    ASSERT_TRUE(process->run(service.call(calls::SetAcl{"acc", name, {{"policy", {}, {}, {}}}})));
    EXPECT_EQ(service.get_acl("acc", name)->size(), 1U);
    const std::string document = "<StorageServiceProperties><Cors /></StorageServiceProperties>";
    EXPECT_TRUE(process->run(service.call(calls::SetServiceProperties{"acc", document})));
    const auto malformed = process->run(service.call(calls::SetServiceProperties{"acc", "nonsense"}));
    EXPECT_TRUE(malformed.failed_with(ErrorCode::kInvalidXmlDocument));
    ASSERT_TRUE(process->run(service.call(calls::DeleteTable{"acc", name})));
    EXPECT_TRUE(process->run(service.call(calls::DeleteTable{"acc", name})).failed_with(ErrorCode::kResourceNotFound));
  }
}

TEST_F(TableOwnersTest, APassedOnCallIsNotPassedOnAgain) {
  for (const auto& [shard, partition] : places_) {
    const auto method = rpc::forwarded_to(shard, calls::Get::kMethod);
    const auto payload = wire::encode(calls::Get{"acc", "people", partition, "r"});
    for (auto* process : both()) {
      const auto answered = process->run(process->link().call(method, payload, 10s));
      EXPECT_EQ(answered.has_value(), process->here(shard));
      if (!answered) EXPECT_EQ(answered.error().code, ErrorCode::kServerBusy);
    }
  }
}

TEST_F(TableOwnersTest, ACallForAShardThatDoesNotExistIsRefused) {
  const auto payload = wire::encode(calls::MutateOn{kShards, "acc", on_all("r", 1), std::nullopt});
  const auto answered = one_->run(one_->link().call(std::string(calls::MutateOn::kMethod), payload, 10s));
  EXPECT_TRUE(answered.failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::table_store
