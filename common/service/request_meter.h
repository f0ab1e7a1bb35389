// Measures the requests that an HTTP server answers: tidemark_http_requests_total by status, and
// tidemark_http_request_duration_seconds by operation and status. Also writes a line in the log at level debug. Thread
// safe. A request costs a few relaxed additions: no lock, no allocation.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <memory>

#include "common/base/histogram.h"
#include "common/http/server.h"
#include "common/process/metrics.h"

namespace tidemark::service {

class RequestMeter {
 public:
  explicit RequestMeter(process::Metrics& metrics);
  /// The operation is request.operation.
  void record(const http::Request& request, unsigned status, std::chrono::steady_clock::duration taken);

 private:
  static constexpr std::size_t kFamilies = 5;          // of statuses, by their first digit
  static constexpr std::size_t kMostOperations = 128;  // the api has most, some 70; further ones go without a name

  struct Operation {
    std::atomic<const char*> name{nullptr};
    std::size_t length = 0;
    std::atomic<bool> named{false};  // once true, name and length may be read
    std::array<std::atomic<Histogram*>, kFamilies> durations{};
  };

  Operation& find(std::string_view name);
  Histogram& durations(Operation& operation, std::size_t family);
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;

  std::array<Operation, kMostOperations + 1> operations_;  // the last one counts operations without a name
  Mutex mutex_;                                            // for adding histograms
  std::vector<std::unique_ptr<Histogram>> owned_ GUARDED_BY(mutex_);
  std::shared_ptr<process::Figures> figures_;
};

/// tidemark_connections_refused_total of a server.
std::vector<prometheus::MetricFamily> connection_figures(const http::Server& server);

}  // namespace tidemark::service
