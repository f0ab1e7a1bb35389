// Indexes on a table service in memory, for the indexes_*_test.cpp that need one.
#pragma once
#include "indexes/store/index_store.h"
#include "tests/support/loopback.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::indexes {

struct IndexFixture : table_store::TableFixture {
  Index put(const std::string& name, const Definition& definition) {
    auto stored = run_task(store.put(name, definition));
    EXPECT_TRUE(stored) << stored.error().message;
    return stored ? stored->index : Index{};
  }
  rpc::Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  IndexStore store{tables, clock, *random};
};

}  // namespace tidemark::indexes
