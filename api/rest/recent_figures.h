// The last hour in a few figures, for the page that operators look at: how many jobs came, ended, wait and are
// poisoned, and how long callers of the api waited. Kept in memory, a sample every ten seconds, so an api that was just
// started knows little. Thread safe.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "queue_service/client/queue_client.h"

namespace tidemark::api {

struct RecentSample {
  Time at{};
  std::uint64_t ready = 0, in_flight = 0, poison = 0;  // in the queues of jobs
  double in_rate = 0, out_rate = 0;                    // jobs per second
  Duration oldest{};                                   // how long the next job has waited
  std::uint64_t requests = 0;                          // answered by the api since the previous sample
  std::uint64_t refused = 0;                           // among those: for a missing right, a limit, or lack of room
  Duration mean{};                                     // time to answer one; 0 if there were none
};

class RecentFigures : public std::enable_shared_from_this<RecentFigures> {
 public:
  static constexpr Duration kStep = std::chrono::seconds(10);
  static constexpr std::size_t kMost = 360;

  /// Counts a request that was answered with this status.
  void answered(Duration taken, unsigned status);
  /// Takes samples until stop(); a sample is left out if the queue service does not answer. Both must outlive it.
  static Task<void> run(std::shared_ptr<RecentFigures> self, queue_service::QueueClient& queues, Clock& clock);
  void stop() { stopping_.notify_all(); }
  /// Returns the samples, the oldest first.
  [[nodiscard]] std::vector<RecentSample> samples() const;

 private:
  Task<void> take(queue_service::QueueClient& queues, Clock& clock);

  Signal stopping_;
  mutable Mutex mutex_;
  std::deque<RecentSample> samples_ GUARDED_BY(mutex_);
  std::uint64_t requests_ GUARDED_BY(mutex_) = 0;
  std::uint64_t refused_ GUARDED_BY(mutex_) = 0;
  Duration taken_ GUARDED_BY(mutex_){};
};

}  // namespace tidemark::api
