#include "common/rpc/call_trace.h"

#include <atomic>
#include <boost/asio/execution.hpp>

namespace tidemark::rpc {
namespace {

struct CallTrace {
  explicit CallTrace(TraceContext of) : context(std::move(of)) {}
  const TraceContext context;
  std::atomic<std::uint32_t> calls{0};
};

/// Passes everything on to the inner executor, as strands do.
class TracedExecutor {
 public:
  TracedExecutor(Executor inner, std::shared_ptr<CallTrace> trace)
      : inner_(std::move(inner)), trace_(std::move(trace)) {}

  template <class Property>
    requires asio::can_query<const Executor&, Property>::value
  [[nodiscard]] decltype(auto) query(const Property& property) const {
    return asio::query(inner_, property);
  }
  template <class Property>
    requires asio::can_require<const Executor&, Property>::value
  [[nodiscard]] TracedExecutor require(const Property& property) const {
    return {asio::require(inner_, property), trace_};
  }
  template <class Property>
    requires asio::can_prefer<const Executor&, Property>::value
  [[nodiscard]] TracedExecutor prefer(const Property& property) const {
    return {asio::prefer(inner_, property), trace_};
  }
  template <class Function>
  void execute(Function&& function) const {
    inner_.execute(std::forward<Function>(function));
  }
  bool operator==(const TracedExecutor& other) const noexcept {
    return trace_ == other.trace_ && inner_ == other.inner_;
  }
  [[nodiscard]] CallTrace& trace() const { return *trace_; }

 private:
  Executor inner_;
  std::shared_ptr<CallTrace> trace_;
};

}  // namespace

Executor traced_executor(Executor executor, TraceContext trace) {
  return TracedExecutor(std::move(executor), std::make_shared<CallTrace>(std::move(trace)));
}

std::unique_ptr<const TraceContext> take_trace(const Executor& executor) {
  const auto* traced = executor.target<TracedExecutor>();
  if (traced == nullptr || traced->trace().calls.fetch_add(1, std::memory_order_relaxed) >= kMaxTracedCalls) {
    return nullptr;
  }
  return std::make_unique<const TraceContext>(traced->trace().context);
}

}  // namespace tidemark::rpc
