// Records the requests that an HTTP server answers: tidemark_http_requests_total and
// tidemark_http_request_duration_seconds, and a line in the log at level debug. Thread safe.
#pragma once
#include <array>
#include <chrono>

#include "common/http/server.h"
#include "common/process/metrics.h"

namespace tidemark::service {

class RequestMeter {
 public:
  explicit RequestMeter(process::Metrics& metrics);
  void record(const http::Request& request, unsigned status, std::chrono::steady_clock::duration taken);

 private:
  prometheus::Histogram& latency_;
  std::array<prometheus::Counter*, 6> answers_{};  // by the first digit of the status
};

/// tidemark_connections_refused_total of a server.
std::vector<prometheus::MetricFamily> connection_figures(const http::Server& server);

}  // namespace tidemark::service
