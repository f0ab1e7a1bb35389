// OTLP over HTTP with JSON: how spans are written, and how they are sent
// (https://opentelemetry.io/docs/specs/otlp/#otlphttp).
#pragma once
#include <chrono>
#include <memory>
#include <span>
#include <string>

#include "common/base/error.h"
#include "common/tracing/span.h"

namespace tidemark::tracing {

/// An ExportTraceServiceRequest. Text that is not UTF-8 is mended.
std::string otlp_json(std::string_view service, std::span<const Span> spans);

enum class Sent {
  kYes,
  kTryAgain,  // no answer, or one that asks for patience
  kRefused,   // the same spans would be refused again
};

/// Blocks; for one thread.
class Collector {
 public:
  /// "http://host:4318": spans go to /v1/traces below it. kConfigInvalid.
  static Result<std::unique_ptr<Collector>> at(const std::string& endpoint);
  virtual ~Collector() = default;
  /// `why` gets what the log should say of a failure.
  virtual Sent send(const std::string& body, std::chrono::milliseconds limit, std::string& why) = 0;
};

}  // namespace tidemark::tracing
