// Calls between the processes of the stack, as bytes. The wire is ZeroMQ in production and a faulty imitation in the
// simulation; this header is what both sides of a call are written against.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "common/base/async.h"

namespace tidemark::rpc {

/// Serves one kind of callee. `method` is a short name such as "table.mutate". May run on any I/O thread; several
/// calls are in flight at once. A Result that is an error travels to the caller with code, message and fields.
using Dispatch = std::function<Task<Result<std::string>>(std::string method, std::string payload)>;

/// For a method whose effect is wasted if nobody hears of it: `run` is told of each reply to it that could not be
/// handed to the caller's connection, because that is gone. A reply that was handed over may still be lost.
struct UndeliveredHook {
  std::string method;  // empty: no hook
  std::function<Task<void>(std::string request, std::string reply)> run;
};

/// A link to one service. Many calls may be in flight; each completes once: with the reply, kDeadlineExceeded, or
/// kUnavailable (not connected for the whole time). A call that failed so may or may not have taken effect.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) = 0;
};

}  // namespace tidemark::rpc
