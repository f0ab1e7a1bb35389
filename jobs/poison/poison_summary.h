// Tells at once how many poison messages there are of each kind of failure, however many there are. The counts are kept
// in memory: a hint, with its time. Only messages that were not seen before are parsed, and only when the queue's
// figures have changed. If counting takes a moment, it goes on in the background. Thread safe.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "jobs/poison/poison.h"

namespace tidemark::jobs {

inline constexpr std::size_t kTrendHours = 24;

struct SummedGroup {
  PoisonGroup group;
  std::array<std::uint32_t, kTrendHours> trend{};  // how many became poison in each of the last hours, the oldest first
};

struct PoisonSum {
  std::vector<SummedGroup> groups;  // the most frequent first
  bool complete = true;       // false: there are more messages or groups than are counted, or counting has not ended
  std::uint64_t counted = 0;  // messages, regardless of the filter
  Time as_of{};
};

class PoisonSummary : public std::enable_shared_from_this<PoisonSummary> {
 public:
  static constexpr std::size_t kMaxSummedGroups = 1000;

  /// Both must outlive it.
  PoisonSummary(queue_service::QueueClient& queues, Clock& clock) : queues_(queues), clock_(clock) {}

  /// Returns the present counts if they are known within 200 ms, else the last ones, or those of a count that goes on.
  Task<Result<PoisonSum>> read(PoisonFilter which);

 private:
  struct Kind {
    std::string kind, source, fingerprint, reason;
    std::vector<std::pair<std::string, Time>> samples;  // message ids, and when they became poison
  };
  struct Counted {
    std::uint32_t kind = 0;
    std::optional<Time> moved;
  };
  /// The state of a walk through the queue.
  struct Tally {
    std::vector<Kind> kinds;
    std::unordered_map<std::string, std::uint32_t> by_name;  // by the kind of job, its table and the fingerprint
    std::unordered_map<std::uint64_t, Counted> messages;     // by a hash of id, text and history
    bool complete = false;
    Duration begun{}, took{};  // by the monotonic clock
    Time as_of{};
    queue_service::QueueFigures figures;  // from before the walk
  };

  /// Returns the answer to a caller that arrived at this time; nothing if it must be counted first.
  std::optional<Result<PoisonSum>> known(const PoisonFilter& which, Duration arrived) REQUIRES(mutex_);
  [[nodiscard]] PoisonSum sum(const Tally& tally, const PoisonFilter& which) const;
  [[nodiscard]] std::shared_ptr<Tally> begin() const;
  static Task<void> count(std::shared_ptr<PoisonSummary> self);
  /// Returns false if nothing has changed since the walk before.
  Task<Result<bool>> walk(std::shared_ptr<Tally> tally, std::shared_ptr<const Tally> before);
  static void add(Tally& tally, const Tally* before, const queue_service::Message& message);

  queue_service::QueueClient& queues_;
  Clock& clock_;
  Signal told_;
  Mutex mutex_;
  std::shared_ptr<Tally> done_ GUARDED_BY(mutex_);                       // the last whole walk
  std::shared_ptr<Tally> running_ GUARDED_BY(mutex_);                    // null: no count is running
  std::optional<std::pair<Duration, Error>> failed_ GUARDED_BY(mutex_);  // when it began, and why it ended
};

}  // namespace tidemark::jobs
