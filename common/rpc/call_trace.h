// The trace that a call belongs to: that of the work that makes it. The trace travels with the executor of the work's
// coroutines, so that the functions in between need not pass it on; work that is spawned on that executor belongs to
// the trace too. Work without a recorded trace runs on its plain executor, and its calls cost one comparison more.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <memory>

#include "common/base/async.h"
#include "common/base/trace_context.h"

namespace tidemark::rpc {

/// One piece of work makes at most this many traced calls: a job of a million entities must not flood a collector.
inline constexpr std::uint32_t kMaxTracedCalls = 256;

/// Returns the same executor, for work that belongs to `trace`.
Executor traced_executor(Executor executor, TraceContext trace);

/// Returns the trace of a call that is being made on the executor. Null if the executor has no trace, or has made its
/// kMaxTracedCalls.
std::unique_ptr<const TraceContext> take_trace(const Executor& executor);

/// Does the work as part of the trace, if the trace is recorded.
template <class T>
Task<T> in_trace(TraceContext trace, Task<T> work) {
  if (!trace.sampled) co_return co_await std::move(work);
  auto executor = traced_executor(co_await asio::this_coro::executor, std::move(trace));
  co_return co_await asio::co_spawn(std::move(executor), std::move(work), asio::use_awaitable);
}

}  // namespace tidemark::rpc
