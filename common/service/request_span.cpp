#include "common/service/request_span.h"

namespace tidemark::service {
namespace {

constexpr std::size_t kLongestPath = 1024;

}  // namespace

RequestSpan::RequestSpan(tracing::Tracer& tracer, http::Request& request) : tracer_(tracer), request_(request) {
  if (!tracer_.on()) return;
  parent_ = std::exchange(request.trace, tracer_.begin(request.trace));
  begun_ = tracer_.clock().now();
}

void RequestSpan::end(unsigned status) {
  if (!tracer_.on() || !request_.trace.sampled) return;
  tracing::Span span;
  span.context = request_.trace;
  span.parent = parent_.span_id();
  span.name = request_.operation.empty() ? std::string(request_.method) : std::string(request_.operation);
  span.kind = tracing::SpanKind::kServer;
  span.begun = begun_;
  span.ended = tracer_.clock().now();
  // The query may hold a signature.
  span.attributes = {{"http.request.method", std::string(request_.method)},
                     {"url.path", std::string(request_.path.substr(0, kLongestPath))},
                     {"http.response.status_code", std::int64_t{status}},
                     {"client.address", request_.remote_address},
                     {"tidemark.request_id", request_.request_id}};
  span.failed = status >= 500;
  tracer_.end(std::move(span));
}

}  // namespace tidemark::service
