#include "common/service/request_meter.h"

#include <algorithm>
#include <map>

#include "common/base/log.h"

namespace tidemark::service {
namespace {

// The low end separates a read from memory from one sync of the log; the high end is the limit of a client's patience.
constexpr std::uint64_t kBoundsUs[] = {250,     500,     1'000,   2'500,     5'000,     10'000,    25'000,    50'000,
                                       100'000, 250'000, 500'000, 1'000'000, 2'500'000, 5'000'000, 10'000'000};

}  // namespace

RequestMeter::RequestMeter(process::Metrics& metrics)
    : figures_(std::make_shared<process::Figures>([this] { return figures(); })) {
  metrics.add(figures_);
}

/// Names are mostly literals, so the address of a name identifies it. If a name has two addresses, figures() adds them
/// up.
RequestMeter::Operation& RequestMeter::find(std::string_view name) {
  auto& nameless = operations_.back();
  if (name.empty()) return nameless;
  const char* const where = name.data();
  const auto begin = std::hash<const void*>()(where) % kMostOperations;
  for (std::size_t step = 0; step < kMostOperations; ++step) {
    auto& operation = operations_[(begin + step) % kMostOperations];
    const char* known = operation.name.load(std::memory_order_relaxed);
    if (known == nullptr && operation.name.compare_exchange_strong(known, where, std::memory_order_relaxed)) {
      operation.length = name.size();
      operation.named.store(true, std::memory_order_release);
      return operation;
    }
    if (known == where) return operation;
  }
  return nameless;
}

Histogram& RequestMeter::durations(Operation& operation, std::size_t family) {
  auto& place = operation.durations[family];
  if (auto* known = place.load(std::memory_order_acquire); known != nullptr) return *known;
  const MutexLock lock(mutex_);
  if (auto* known = place.load(std::memory_order_acquire); known != nullptr) return *known;
  owned_.push_back(std::make_unique<Histogram>(kBoundsUs));
  place.store(owned_.back().get(), std::memory_order_release);
  return *owned_.back();
}

void RequestMeter::record(const http::Request& request, unsigned status, std::chrono::steady_clock::duration taken) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(taken).count();
  const auto family = std::clamp<std::size_t>(status / 100, 1, kFamilies) - 1;
  durations(find(request.operation), family).observe(static_cast<std::uint64_t>(us));
  if (is_logged(LogLevel::kDebug)) {
    // The query may hold a signature, so it is never logged.
    log_debug("request request_id={} method={} path={} status={} us={} operation={}{}", request.request_id,
              request.method, request.path, status, us, request.operation, trace_for_log(request.trace));
  }
}

std::vector<prometheus::MetricFamily> RequestMeter::figures() const {
  using Family = prometheus::MetricFamily;
  std::map<std::pair<std::string, std::size_t>, Histogram::Counts> counted;
  for (const auto& operation : operations_) {
    const bool named = operation.named.load(std::memory_order_acquire);
    const auto name = named ? std::string(operation.name.load(), operation.length) : std::string("(none)");
    for (std::size_t i = 0; i < kFamilies; ++i) {
      const auto* durations = operation.durations[i].load(std::memory_order_acquire);
      if (durations != nullptr) counted[{name, i}].add(durations->counts());
    }
  }
  Family requests{"tidemark_http_requests_total", "Requests answered.", prometheus::MetricType::Counter, {}};
  Family latency{"tidemark_http_request_duration_seconds",
                 "Time to answer a request, without its way over the network.",
                 prometheus::MetricType::Histogram,
                 {}};
  std::array<std::uint64_t, kFamilies> of_family{};
  for (const auto& [key, counts] : counted) {
    of_family[key.second] += counts.values();
    process::add_histogram(latency, counts, kBoundsUs, process::kUsPerSecond,
                           {{"operation", key.first}, {"status", std::to_string(key.second + 1) + "xx"}});
  }
  for (std::size_t i = 0; i < kFamilies; ++i) {
    process::add_value(requests, static_cast<double>(of_family[i]), {{"status", std::to_string(i + 1) + "xx"}});
  }
  return {std::move(requests), std::move(latency)};
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
