#include "common/process/metrics.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <limits>

namespace tidemark::process {
namespace {

// Seconds. The low end separates a read from memory from one fsync; the high end is the limit of a client's patience.
const prometheus::Histogram::BucketBoundaries kLatencyBuckets{0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                                              0.1,     0.25,   0.5,   1.0,    2.5,   5.0,  10.0};

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double total = 0;
  double resident = 0;
  if (!(statm >> total >> resident)) return 0;
  return resident * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  timespec used{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::vector<prometheus::MetricFamily> process_figures() {
  return {figure("process_resident_memory_bytes", "Resident memory of the process.", prometheus::MetricType::Gauge,
                 resident_bytes()),
          figure("process_cpu_seconds_total", "Processor time used by the process.", prometheus::MetricType::Counter,
                 cpu_seconds())};
}

}  // namespace

Metrics::Metrics()
    : registry_(std::make_shared<prometheus::Registry>()), process_(std::make_shared<Figures>(&process_figures)) {
  add(registry_);
  add(process_);
}

prometheus::Counter& Metrics::counter(const std::string& name, const std::string& help,
                                      const std::map<std::string, std::string>& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(*registry_).Add(labels);
}

prometheus::Histogram& Metrics::latency_histogram(const std::string& name, const std::string& help,
                                                  const std::map<std::string, std::string>& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(*registry_).Add(labels, kLatencyBuckets);
}

void Metrics::add(std::weak_ptr<const prometheus::Collectable> figures) {
  MutexLock lock(mutex_);
  collectables_.push_back(std::move(figures));
}

std::string Metrics::render() const {
  const auto collectables = [this] {
    MutexLock lock(mutex_);
    return collectables_;
  }();
  std::vector<prometheus::MetricFamily> families;
  for (const auto& collectable : collectables) {
    const auto alive = collectable.lock();
    if (!alive) continue;
    auto more = alive->Collect();
    families.insert(families.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  }
  return prometheus::TextSerializer().Serialize(families);
}

void add_value(prometheus::MetricFamily& family, double value, std::vector<prometheus::ClientMetric::Label> labels) {
  auto& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  (family.type == prometheus::MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
}

void add_histogram(prometheus::MetricFamily& family, const Histogram::Counts& counts,
                   std::span<const std::uint64_t> bounds, double unit,
                   std::vector<prometheus::ClientMetric::Label> labels) {
  auto& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  auto& out = metric.histogram;
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.buckets.size(); ++i) {
    below += counts.buckets[i];
    const auto bound =
        i < bounds.size() ? static_cast<double>(bounds[i]) / unit : std::numeric_limits<double>::infinity();
    out.bucket.push_back({below, bound});
  }
  out.sample_count = below;
  out.sample_sum = static_cast<double>(counts.sum) / unit;
}

prometheus::MetricFamily figure(std::string name, std::string help, prometheus::MetricType type, double value) {
  prometheus::MetricFamily family{std::move(name), std::move(help), type, {}};
  add_value(family, value);
  return family;
}

}  // namespace tidemark::process
