// Makes the spans of a process and sends them to a collector, if one is configured. Without one, no spans are made, and
// no thread runs. Ending a span never waits: spans without room in the queue are dropped and counted. Thread safe.
#pragma once
#include <atomic>
#include <deque>
#include <memory>
#include <semaphore>
#include <thread>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "common/base/random.h"
#include "common/process/config.h"
#include "common/process/metrics.h"
#include "common/tracing/otlp.h"

namespace tidemark::tracing {

struct TracingSettings {
  std::string otlp_endpoint;
  std::int64_t trace_percent = 10;
};
void declare(process::Settings& settings, TracingSettings& values);

class Tracer {
 public:
  /// `service`: the name of the program. The references must outlive it. kConfigInvalid.
  static Result<std::unique_ptr<Tracer>> create(const TracingSettings& settings, std::string service, Clock& clock,
                                                Random& random, process::Metrics& metrics);
  /// Sends the remaining spans, if that takes no longer than two seconds.
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  [[nodiscard]] bool on() const { return collector_ != nullptr; }
  [[nodiscard]] Clock& clock() const { return clock_; }
  /// Returns a span below this one, which is recorded if the parent is. Without a parent, a new trace begins, of which
  /// trace_percent are recorded.
  [[nodiscard]] TraceContext begin(const TraceContext& parent) const;
  /// Keeps the span only if it is sampled.
  void end(Span span);

 private:
  Tracer(std::unique_ptr<Collector> collector, const TracingSettings& settings, std::string service, Clock& clock,
         Random& random);
  void run();
  std::vector<Span> next_batch();
  void deliver(const std::vector<Span>& batch);
  /// Ends early when the tracer ends.
  void pause(std::chrono::milliseconds time);
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;

  const std::unique_ptr<Collector> collector_;
  const std::uint64_t percent_;
  const std::string service_;
  Clock& clock_;
  Random& random_;
  std::shared_ptr<process::Figures> figures_;
  std::atomic<std::uint64_t> exported_{0}, dropped_{0}, failed_{0};
  Mutex mutex_;
  CondVar wake_;
  std::deque<Span> queue_ GUARDED_BY(mutex_);
  std::atomic<bool> stopping_{false};
  std::binary_semaphore stopped_{0};
  std::thread thread_;
};

}  // namespace tidemark::tracing
