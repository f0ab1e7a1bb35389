// Storage analytics of one store: records the requests as its accounts want, keeps the records durably every now and
// then, and gives them to the worker that collects them (workers/analytics). The store knows no other part of it.
//
//   request -> Recorder (memory, bounded) -> Backlog (this store's database) -> worker -> $logs and $Metrics...
//
// Thread safe.
#pragma once
#include <functional>

#include "common/analytics/backlog.h"
#include "common/process/config.h"
#include "common/process/metrics.h"

namespace tidemark::analytics {

/// Settings of a store.
struct AnalyticsSettings {
  std::int64_t flush_s = 30;
  std::int64_t buffer_mib = 16;
  std::int64_t backlog_mib = 256;
};
void declare(process::Settings& settings, AnalyticsSettings& values);

class Analytics {
 public:
  Analytics(kv::Engine& engine, Clock& clock, const AnalyticsSettings& settings, process::Metrics& metrics);

  [[nodiscard]] Recorder& recorder() { return recorder_; }
  /// Keeps the records now and then, until `stop`.
  Task<void> run();
  void stop();
  /// Keeps the last records, when no request is served any more. Engine::drain() waits for it.
  void finish();
  /// Adds the calls of analytics_calls.h, which the store answers to other processes. The result must not outlive this.
  rpc::Dispatch beside(rpc::Dispatch store);

  Task<Result<void>> flush();
  Task<Result<Collected>> collect(calls::Collect call);
  Task<Result<void>> settle(calls::Settle call);

 private:
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;
  /// Tells whether this collector may collect now. If so, no other may for a while.
  bool take_turn(const std::string& collector);

  Clock& clock_;
  const Duration flush_every_;
  Signal wake_;
  std::atomic<bool> stopping_{false};
  Recorder recorder_;
  Backlog backlog_;
  Recorded unkept_;  // of the last flush, if it failed; used by run() alone
  std::shared_ptr<process::Figures> figures_;
  Mutex turn_mutex_;
  std::string collector_ GUARDED_BY(turn_mutex_);
  Duration turn_ends_ GUARDED_BY(turn_mutex_){};
};

}  // namespace tidemark::analytics
