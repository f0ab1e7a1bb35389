// Calls between the processes of the stack, as bytes. Both sides of a call use this interface. It is implemented by
// ZeroMQ in production and by a faulty network in the simulation.
#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "common/base/async.h"

namespace tidemark::rpc {

/// Serves the calls of one service. `method` is a short name such as "table.mutate". Calls run on any I/O thread,
/// several at once. An error goes to the caller with its code, message and fields.
using Dispatch = std::function<Task<Result<std::string>>(std::string method, std::string payload)>;

/// For a method whose effect is wasted if its caller does not learn of it: `run` is called with each reply that could
/// not be handed to the caller's connection because that is gone. A reply that was handed over may still be lost.
struct UndeliveredHook {
  std::string method;  // empty: no hook
  std::function<Task<void>(std::string request, std::string reply)> run;
};

/// A link to one service. Many calls may be in flight. Each completes once, with the reply, kDeadlineExceeded, or
/// kUnavailable if there was no connection all the time. A call that failed in this way may have taken effect or not.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual Task<Result<std::string>> call(std::string method, std::string payload, Duration deadline) = 0;
  /// Ends the calls that are in flight with kCancelled, and takes no more. A call may own its link, which then lives as
  /// long as the call; so code that is about to destroy the callers' executors must close the link before. Must be
  /// called by one thread only.
  virtual void close() {}
};

}  // namespace tidemark::rpc
