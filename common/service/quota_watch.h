// Measures the data of the accounts in a store, for its Quotas: at once at the start, then every ten seconds, and soon
// after a refusal, because something may have been deleted. The engine's estimate is enough until an account that has a
// bound of bytes is near to it; then its rows are counted as well. Runs on a thread of its own with the lowest
// priority, which takes a small part of one core however much there is to measure.
#pragma once
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "common/service/quotas.h"

namespace tidemark::service {

class QuotaWatch {
 public:
  /// All arguments must outlive it. Returns when everything has been estimated once.
  QuotaWatch(std::vector<MeasuredShard> shards, Quotas& quotas, Holdings holdings);
  /// Ends the measurement that is under way.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;
  /// When a measurement was made, and how long it took.
  struct Turn {
    Clock::time_point ended = {};
    Clock::duration took{};
    [[nodiscard]] Clock::time_point next(bool soon) const;
  };

  void run(const std::stop_token& stop);
  void estimate_all();
  void count_those_near(const std::stop_token& stop);
  void count_one(const std::string& account, const std::stop_token& stop);
  bool pace(Clock::time_point& slice, const std::stop_token& stop);
  [[nodiscard]] bool wanted_soon() const;

  const std::vector<MeasuredShard> shards_;
  Quotas& quotas_;
  const Holdings holdings_;
  Turn estimated_;
  std::map<std::string, Turn> counted_;
  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  bool wanted_ = false;  // by a refused request, since everything was last measured
  std::jthread thread_;
};

}  // namespace tidemark::service
