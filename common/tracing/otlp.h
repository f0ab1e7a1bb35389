// OTLP over HTTP with JSON: the form of spans, and the way to send them
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/tracing/span.h"

namespace tidemark::tracing {

/// Returns an ExportTraceServiceRequest. Text that is not UTF-8 is repaired.
std::string otlp_json(std::string_view service, std::span<const Span> spans);

enum class Sent {
  kYes,
  kTryAgain,  // no answer, or one that asks to wait
  kRefused,   // the same spans would be refused again
};

/// Blocks; for one thread.
class Collector {
 public:
  /// "http://host:4318": spans go to /v1/traces below it. kConfigInvalid.
  static Result<std::unique_ptr<Collector>> at(const std::string& endpoint);
  virtual ~Collector() = default;
  /// After a failure, `why` has the reason for the log.
  virtual Sent send(const std::string& body, std::chrono::milliseconds limit, std::string& why) = 0;
};

}  // namespace tidemark::tracing
