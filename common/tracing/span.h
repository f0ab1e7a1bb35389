// A piece of work in a trace, once it has ended.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/time.h"
#include "common/base/trace_context.h"

namespace tidemark::tracing {

/// The numbers are OTLP's.
enum class SpanKind { kInternal = 1, kServer = 2, kClient = 3, kProducer = 4, kConsumer = 5 };

struct Span {
  TraceContext context;  // of this span
  std::string parent;    // span id; empty: the trace begins here
  std::string name;
  SpanKind kind = SpanKind::kInternal;
  Time begun, ended;
  std::vector<std::pair<std::string, std::variant<std::string, std::int64_t>>> attributes;
  bool failed = false;
  std::string error;  // the description of the failure
};

}  // namespace tidemark::tracing
