// Prometheus metrics of a process; rendered as text for GET /metrics.
#pragma once
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <map>
#include <memory>
#include <string>

namespace tidemark::process {

/// Thread safe. Names follow Prometheus: tidemark_<what>_<unit>[_total].
class Metrics {
 public:
  Metrics();
  prometheus::Registry& registry() { return *registry_; }
  prometheus::Counter& counter(const std::string& name, const std::string& help,
                               const std::map<std::string, std::string>& labels = {});
  prometheus::Gauge& gauge(const std::string& name, const std::string& help,
                           const std::map<std::string, std::string>& labels = {});
  prometheus::Histogram& latency_histogram(const std::string& name, const std::string& help,
                                           const std::map<std::string, std::string>& labels = {});
  /// The text exposition format, with process_resident_memory_bytes and process_cpu_seconds_total.
  [[nodiscard]] std::string render() const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
};

}  // namespace tidemark::process
