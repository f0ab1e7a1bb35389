// Indexes on a table service in memory, for the indexes_*_test.cpp that need one.
#pragma once
#include "indexes/store/index_store.h"
#include "tests/unit/table_fixture.h"

namespace tidemark::indexes {

/// Calls the dispatch at once; `before` may do what another process would do just then.
class Loopback : public rpc::Transport {
 public:
  explicit Loopback(rpc::Dispatch dispatch) : dispatch_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration) override {
    if (before) before(method);
    co_return co_await dispatch_(std::move(method), std::move(payload));
  }
  std::function<void(const std::string&)> before;

 private:
  rpc::Dispatch dispatch_;
};

struct IndexFixture : table_store::TableFixture {
  Index put(const std::string& name, const Definition& definition) {
    auto stored = table_store::run_task(store.put(name, definition));
    EXPECT_TRUE(stored) << stored.error().message;
    return stored ? stored->index : Index{};
  }
  Loopback loopback{table_store::make_table_dispatch(*service)};
  table_store::TableClient tables{loopback, "acct"};
  IndexStore store{tables, clock, *random};
};

}  // namespace tidemark::indexes
