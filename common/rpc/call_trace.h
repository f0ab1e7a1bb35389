// Which trace a call belongs to: that of the work that makes it. The trace travels with the executor of the work's
// coroutines, so that nobody between the two has to hand it on; what is spawned on that executor belongs to the trace
// too. Work without a trace that is recorded runs on its executor as ever, and its calls cost one comparison more.
#pragma once
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cstdint>
#include <memory>

#include "common/base/async.h"
#include "common/base/trace_context.h"

namespace tidemark::rpc {

/// One piece of work makes no more traced calls than this: a job of a million entities must not flood a collector.
inline constexpr std::uint32_t kMaxTracedCalls = 256;

/// The same executor, for work that belongs to `trace`.
Executor traced_executor(Executor executor, TraceContext trace);

/// The trace of a call that is being made on the executor. Null if it has none, or made its kMaxTracedCalls before.
std::unique_ptr<const TraceContext> take_trace(const Executor& executor);

/// Does the work as part of the trace, if that is recorded.
template <class T>
Task<T> in_trace(TraceContext trace, Task<T> work) {
  if (!trace.sampled) co_return co_await std::move(work);
  auto executor = traced_executor(co_await asio::this_coro::executor, std::move(trace));
  co_return co_await asio::co_spawn(std::move(executor), std::move(work), asio::use_awaitable);
}

}  // namespace tidemark::rpc
