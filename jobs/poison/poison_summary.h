// How many poison messages there are of each kind of failure, told at once however many there are. What was counted is
// kept in memory: a hint, which says of when it is. Only messages that were not seen before are parsed, and only when
// the queue's figures have changed. Where counting takes a moment, it goes on in the background. Thread safe.
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
  bool complete = true;             // false: there are more messages or groups than are counted, or not all are yet
  std::uint64_t counted = 0;        // messages, whatever the filter
  Time as_of{};
};

class PoisonSummary : public std::enable_shared_from_this<PoisonSummary> {
 public:
  static constexpr std::size_t kMaxSummedGroups = 1000;

  /// Both must outlive it.
  PoisonSummary(queue_service::QueueClient& queues, Clock& clock) : queues_(queues), clock_(clock) {}

  /// As it is now if that is known within 200 ms, else as it was when it was counted last, or as far as it was counted.
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
  /// A walk through the queue, as far as it has come.
  struct Tally {
    std::vector<Kind> kinds;
    std::unordered_map<std::string, std::uint32_t> by_name;  // of the kind of job, its table and the fingerprint
    std::unordered_map<std::uint64_t, Counted> messages;     // by a hash of id, text and story
    bool complete = false;
    Duration begun{}, took{};  // by the clock that nobody sets
    Time as_of{};
    queue_service::QueueFigures figures;  // from before the walk
  };

  /// What whoever arrived then gets; nothing: it must be counted first.
  std::optional<Result<PoisonSum>> known(const PoisonFilter& which, Duration arrived) REQUIRES(mutex_);
  [[nodiscard]] PoisonSum sum(const Tally& tally, const PoisonFilter& which) const;
  [[nodiscard]] std::shared_ptr<Tally> begin() const;
  static Task<void> count(std::shared_ptr<PoisonSummary> self);
  /// False: nothing has changed since the walk before.
  Task<Result<bool>> walk(std::shared_ptr<Tally> tally, std::shared_ptr<const Tally> before);
  static void add(Tally& tally, const Tally* before, const queue_service::Message& message);

  queue_service::QueueClient& queues_;
  Clock& clock_;
  Signal told_;
  Mutex mutex_;
  std::shared_ptr<Tally> done_ GUARDED_BY(mutex_);                       // the last whole walk
  std::shared_ptr<Tally> running_ GUARDED_BY(mutex_);                    // null: nobody counts
  std::optional<std::pair<Duration, Error>> failed_ GUARDED_BY(mutex_);  // when it began, and why it ended
};

}  // namespace tidemark::jobs
