#include "common/service/call_span.h"

namespace tidemark::service {
namespace {

Task<Result<std::string>> serve_traced(tracing::Tracer& tracer, std::shared_ptr<const rpc::Dispatch> dispatch,
                                       TraceContext parent, std::string method, std::string payload) {
  tracing::Span span;
  span.context = tracer.begin(parent);
  span.parent = parent.span_id();
  span.name = method;
  span.kind = tracing::SpanKind::kServer;
  span.begun = tracer.clock().now();
  span.attributes = {{"rpc.system", std::string("tidemark")},
                     {"rpc.method", method},
                     {"tidemark.request_bytes", static_cast<std::int64_t>(payload.size())}};
  auto result = co_await (*dispatch)(std::move(method), std::move(payload));
  span.ended = tracer.clock().now();
  if (result) {
    span.attributes.emplace_back("tidemark.reply_bytes", static_cast<std::int64_t>(result->size()));
  } else {
    // A refusal by the store, such as that of a copy older than the stored one, is no failure of the store.
    span.attributes.emplace_back("error.type", std::string(azure_name_of(result.error().code)));
    span.failed = http_status_of(result.error().code) >= 500;
    if (span.failed) span.error = azure_name_of(result.error().code);
  }
  tracer.end(std::move(span));
  co_return result;
}

}  // namespace

rpc::TracedDispatch with_spans(tracing::Tracer& tracer, rpc::Dispatch dispatch) {
  if (!tracer.on()) return {};
  // Not a coroutine itself: it returns one that owns its arguments.
  return [&tracer, dispatch = std::make_shared<const rpc::Dispatch>(std::move(dispatch))](
             TraceContext parent, std::string method, std::string payload) {
    return serve_traced(tracer, dispatch, std::move(parent), std::move(method), std::move(payload));
  };
}

}  // namespace tidemark::service
