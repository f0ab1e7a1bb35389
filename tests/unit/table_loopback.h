// A client of a table service in memory, for the tests of what is built on tables.
#pragma once
#include "tests/unit/table_fixture.h"

namespace tidemark::table_store {

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

}  // namespace tidemark::table_store
