// A store's internal face without a wire: each call is dispatched at once.
#pragma once
#include <functional>
#include <string>

#include "common/rpc/transport.h"

namespace tidemark::rpc {

class Loopback : public Transport {
 public:
  explicit Loopback(Dispatch dispatch) : dispatch_(std::move(dispatch)) {}
  Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) override {
    if (before) before(method, deadline);
    if (fails && fails(method)) co_return fail(ErrorCode::kUnavailable);
    co_return co_await dispatch_(std::move(method), std::move(payload));
  }
  /// Called before each call; may do something that another process would do just then.
  std::function<void(const std::string& method, Duration deadline)> before;
  /// Tells whether a call gets lost.
  std::function<bool(const std::string& method)> fails;

 private:
  Dispatch dispatch_;
};

}  // namespace tidemark::rpc
