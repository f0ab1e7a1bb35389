#include "common/service/request_meter.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace tidemark::service {

RequestMeter::RequestMeter(process::Metrics& metrics)
    : latency_(metrics.latency_histogram("tidemark_http_request_duration_seconds", "Time to answer a request.")) {
  for (unsigned family = 1; family <= 5; ++family) {
    const auto label = std::to_string(family) + "xx";
    answers_[family] = &metrics.counter("tidemark_http_requests_total", "Requests answered.", {{"status", label}});
  }
}

void RequestMeter::record(const http::Request& request, unsigned status, std::chrono::steady_clock::duration taken) {
  latency_.Observe(std::chrono::duration<double>(taken).count());
  answers_[std::clamp(status / 100, 1U, 5U)]->Increment();
  if (spdlog::should_log(spdlog::level::debug)) {
    // The query may hold a signature: never logged.
    spdlog::debug("request request_id={} method={} path={} status={} us={}", request.request_id, request.method,
                  request.path, status, std::chrono::duration_cast<std::chrono::microseconds>(taken).count());
  }
}

std::vector<prometheus::MetricFamily> connection_figures(const http::Server& server) {
  const auto refused = server.refused();
  prometheus::MetricFamily family{"tidemark_connections_refused_total",
                                  "Connections closed at their beginning.",
                                  prometheus::MetricType::Counter,
                                  {}};
  process::add_value(family, static_cast<double>(refused.in_all), {{"reason", "max_connections"}});
  process::add_value(family, static_cast<double>(refused.of_address), {{"reason", "max_connections_of_address"}});
  process::add_value(family, static_cast<double>(refused.handshakes), {{"reason", "tls_handshake"}});
  return {std::move(family)};
}

}  // namespace tidemark::service
