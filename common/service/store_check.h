// Checks the data of a store: now and then by itself, at a configured rate (the scrub), or at once on request. The work
// is done on a thread of its own with the lowest priority. Thread safe.
#pragma once
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "common/kv/check.h"
#include "common/process/config.h"
#include "common/process/metrics.h"
#include "common/service/maintenance_calls.h"

namespace tidemark::service {

/// The settings of a store's scrub.
struct ScrubSettings {
  std::int64_t mib_per_s = 4;
  std::int64_t interval_h = 24;
};
void declare(process::Settings& settings, ScrubSettings& values);

class StoreCheck {
 public:
  /// Walks everything once.
  using Check = std::function<Result<void>(kv::CheckRun& run)>;
  StoreCheck(Check check, const ScrubSettings& settings, process::Metrics& metrics);

  /// Begins a round in place of one that is under way. Returns its number.
  std::uint64_t begin();
  [[nodiscard]] CheckState state() const;
  /// Ends the round that is under way.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  void run(const std::stop_token& stop);
  void run_round(const std::stop_token& stop, bool hurried);
  bool pace(std::uint64_t bytes, const kv::CheckReport& so_far, const std::stop_token& stop, bool hurried);
  void publish(const kv::CheckReport& report, bool running, std::string trouble = {});
  [[nodiscard]] std::vector<prometheus::MetricFamily> figures() const;

  const Check check_;
  const std::uint64_t bytes_per_s_;
  const std::chrono::hours interval_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::uint64_t wanted_ = 0;  // rounds asked for; one is due while this exceeds served_
  std::uint64_t served_ = 0;
  CheckState state_;
  std::uint64_t read_bytes_ = 0, ended_ = 0, last_found_ = 0;
  double last_ended_at_ = 0;
  std::shared_ptr<process::Figures> figures_;
  std::jthread thread_;
};

}  // namespace tidemark::service
