// A table service over the memory engine with a clock set by hand, for the table_*_test.cpp programs.
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

struct TableFixture : ::testing::Test {
  std::shared_ptr<kv::MemoryDisk> disk = kv::make_memory_disk();
  std::unique_ptr<kv::Engine> engine = kv::make_memory_engine(disk);
  StandingClock clock;
  std::unique_ptr<Random> random = make_seeded_random(7);
  std::unique_ptr<TableService> service = std::make_unique<TableService>(*engine, clock, *random);

  void reopen() {
    service.reset();
    engine.reset();
    engine = kv::make_memory_engine(disk);
    service = std::make_unique<TableService>(*engine, clock, *random);
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
