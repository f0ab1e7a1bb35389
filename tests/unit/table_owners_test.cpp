// Two processes that share the shards of the tables, both in this one: the process that owns the partition does
// everything that a worker asks of either, and operations that span shards of both are whole.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "common/rpc/forwarded.h"
#include "table_store/client/table_client.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/served_calls.h"
#include "table_store/storage/table_service.h"
#include "tests/support/shared_process.h"

namespace tidemark::table_store {
namespace {

using std::chrono::seconds;
using namespace std::chrono_literals;

struct Tables {
  using Service = TableService;
  static rpc::Dispatch dispatch(Service& service) { return make_table_dispatch(service); }
  static rpc::UndeliveredHook undelivered(const rpc::Dispatch&) { return {}; }
};
using Process = testing::SharedProcess<Tables>;

class TableOwnersTest : public testing::SharedProcesses<Tables> {
 protected:
  void prepare() override {
    for (int i = 0; places_.size() < testing::kSharedShards; ++i) {
      const auto partition = "p" + std::to_string(i);
      places_.try_emplace(testing::kSharedPlacement.of({"acc", "people", partition}), partition);
    }
    ASSERT_TRUE(one_->run(TableClient(one_->link(), "acc").create_table("People")));
  }
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
    EXPECT_EQ(entities(*process), testing::kSharedShards);
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
    ASSERT_EQ(outcomes->size(), testing::kSharedShards + 1);
    for (std::size_t i = 0; i < testing::kSharedShards; ++i) EXPECT_TRUE(outcomes->at(i));
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
  EXPECT_EQ(closed->counter("done"), 2 * testing::kSharedShards);
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
  ASSERT_EQ(status->position.shards.size(), testing::kSharedShards);
  ASSERT_TRUE(one_->run(at_one.mutate_all(on_all("r", 1), std::nullopt)));
  ASSERT_TRUE(two_->run(at_two.mutate_all(on_all("r", 2), std::nullopt)));

  auto position = status->position;
  for (auto* reader : both()) {
    TableClient client(reader->link(), "acc");
    const auto page = reader->run(client.changed_entities("people", "index", position, {}, 100, 0s, {}));
    ASSERT_TRUE(page);
    ASSERT_EQ(page->entities.size(), testing::kSharedShards);
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
    EXPECT_EQ(page->changes.size(), 2 * testing::kSharedShards);
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
  const auto payload = wire::encode(calls::MutateOn{testing::kSharedShards, "acc", on_all("r", 1), std::nullopt});
  const auto answered = one_->run(one_->link().call(std::string(calls::MutateOn::kMethod), payload, 10s));
  EXPECT_TRUE(answered.failed_with(ErrorCode::kInvalidInput));
}

}  // namespace
}  // namespace tidemark::table_store
