// Prometheus metrics of a process; rendered as text for GET /metrics.
#pragma once
#include <prometheus/collectable.h>
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

#include "common/base/histogram.h"
#include "common/base/mutex.h"

namespace tidemark::process {

/// Thread safe. Names follow Prometheus: tidemark_<what>_<unit>[_total].
class Metrics {
 public:
  Metrics();
  prometheus::Counter& counter(const std::string& name, const std::string& help,
                               const std::map<std::string, std::string>& labels = {});
  prometheus::Histogram& latency_histogram(const std::string& name, const std::string& help,
                                           const std::map<std::string, std::string>& labels = {});
  /// Adds figures that are kept elsewhere. They are read at each render(), from any thread, as long as they live.
  void add(std::weak_ptr<const prometheus::Collectable> figures);
  /// Returns the text exposition format, with process_resident_memory_bytes and process_cpu_seconds_total.
  [[nodiscard]] std::string render() const;

 private:
  std::shared_ptr<prometheus::Registry> registry_;
  std::shared_ptr<const prometheus::Collectable> process_;
  mutable Mutex mutex_;
  std::vector<std::weak_ptr<const prometheus::Collectable>> collectables_ GUARDED_BY(mutex_);
};

/// Figures that `read` returns each time they are collected.
class Figures final : public prometheus::Collectable {
 public:
  using Read = std::function<std::vector<prometheus::MetricFamily>()>;
  explicit Figures(Read read) : read_(std::move(read)) {}
  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override { return read_(); }

 private:
  Read read_;
};

/// Adds a value to a family of counters or gauges.
void add_value(prometheus::MetricFamily& family, double value,
               std::vector<prometheus::ClientMetric::Label> labels = {});
inline constexpr double kUsPerSecond = 1e6;
/// Adds a histogram to a family of histograms. Bounds and sum are divided by `unit`, which is kUsPerSecond for
/// microseconds.
void add_histogram(prometheus::MetricFamily& family, const Histogram::Counts& counts,
                   std::span<const std::uint64_t> bounds, double unit,
                   std::vector<prometheus::ClientMetric::Label> labels = {});
/// A family of one value without labels.
prometheus::MetricFamily figure(std::string name, std::string help, prometheus::MetricType type, double value);

}  // namespace tidemark::process
