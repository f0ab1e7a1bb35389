// A table service over the memory engine with a manual clock, for the table_*_test.cpp programs. With
// TIDEMARK_TEST_SHARDS=N, which table.cmake sets for some of them, the tables are divided over N shards.
#pragma once
#include <gtest/gtest.h>

#include "table_store/client/table_client.h"
#include "table_store/internal/table_dispatch.h"
#include "table_store/storage/table_service.h"
#include "tests/support/memory_engine.h"
#include "tests/support/seeded_random.h"
#include "tests/support/standing_clock.h"
#include "tests/support/task_runner.h"

namespace tidemark::table_store {

inline std::size_t shards_of_tests() {
  const auto* count = std::getenv("TIDEMARK_TEST_SHARDS");
  return count == nullptr ? 1 : std::strtoul(count, nullptr, 10);
}

struct TableFixture : ::testing::Test {
  std::vector<std::shared_ptr<kv::MemoryDisk>> disks;
  std::unique_ptr<kv::Engine> engine;  // of the first shard
  std::vector<std::unique_ptr<kv::Engine>> others;
  StandingClock clock;
  std::unique_ptr<Random> random = make_seeded_random(7);
  std::unique_ptr<TableService> service;

  explicit TableFixture(std::size_t count = shards_of_tests()) {
    while (disks.size() < count) disks.push_back(kv::make_memory_disk());
    reopen();
  }
  void reopen() {
    service.reset();
    engine.reset();
    others.clear();
    engine = kv::make_memory_engine(disks.front());
    for (std::size_t shard = 1; shard < disks.size(); ++shard) others.push_back(kv::make_memory_engine(disks[shard]));
    service = std::make_unique<TableService>(shards(), clock, *random);
  }
  [[nodiscard]] std::vector<kv::Engine*> engines() const {
    std::vector<kv::Engine*> all{engine.get()};
    for (const auto& other : others) all.push_back(other.get());
    return all;
  }
  [[nodiscard]] bool divided() const { return disks.size() > 1; }
  [[nodiscard]] shards::Placement placement() const {
    return divided() ? shards::Placement(disks.size(), {1, 2, 3}) : shards::Placement();
  }
  [[nodiscard]] shards::Shards shards() {
    shards::Shards out{{}, placement()};
    for (auto* each : engines()) out.all.push_back({*each, clock});
    return out;
  }
  [[nodiscard]] std::size_t shard_of(const std::string& pk, const std::string& table = "people") const {
    return placement().of({"acct", table, pk});
  }
  void create(const std::string& table) { ASSERT_TRUE(run_task(service->create_table("acct", table)).has_value()); }
  MutationResult<TableService::MutateResult> mutate(std::vector<Mutation> changes, std::optional<Fence> fence = {},
                                                    std::string pk = "p") {
    return run_task(service->mutate("acct", "people", std::move(pk), std::move(changes), std::move(fence)));
  }
  MutationResult<TableService::MutateResult> mutate(Mutation change, std::optional<Fence> fence = {}) {
    return mutate(std::vector<Mutation>{std::move(change)}, std::move(fence));
  }
  std::optional<Entity> get(const std::string& rk, const std::string& pk = "p") {
    auto found = service->get("acct", "people", pk, rk);
    EXPECT_TRUE(found.has_value());
    return found ? *found : std::nullopt;
  }
};

inline Mutation change(MutationKind kind, std::string rk, std::vector<Property> properties = {}) {
  Mutation out;
  out.kind = kind;
  out.row_key = std::move(rk);
  out.properties = std::move(properties);
  return out;
}

}  // namespace tidemark::table_store
