// Prometheus metrics of a process; rendered as text for GET /metrics.
#pragma once
#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/mutex.h"

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
  /// Families asked for at each render(), for figures that are kept elsewhere. `source` is called from any thread and
  /// must outlive the last render().
  void add_source(std::function<std::vector<prometheus::MetricFamily>()> source);
  /// The text exposition format, with process_resident_memory_bytes and process_cpu_seconds_total.
  [[nodiscard]] std::string render() const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  mutable Mutex mutex_;
  std::vector<std::function<std::vector<prometheus::MetricFamily>()>> sources_ GUARDED_BY(mutex_);
};

}  // namespace tidemark::process
