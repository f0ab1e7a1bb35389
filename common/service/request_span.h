// The span of a request while it is served, if spans are made: request.trace becomes its context, to which the
// request's work, its line in the log and the jobs that it submits belong. Without spans, request.trace stays the
// caller's.
#pragma once
#include "common/http/http.h"
#include "common/tracing/tracer.h"

namespace tidemark::service {

class RequestSpan {
 public:
  /// Both must outlive it.
  RequestSpan(tracing::Tracer& tracer, http::Request& request);
  void end(unsigned status);

 private:
  tracing::Tracer& tracer_;
  const http::Request& request_;
  TraceContext parent_;
  Time begun_;
};

}  // namespace tidemark::service
