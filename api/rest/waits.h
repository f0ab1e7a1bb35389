// Explains why a queued job does not run yet, from the facts that decide for the workers: the limits and the holders of
// their slots, the state of the queues, and the heartbeats. The result of a read serves all callers for a second.
// Thread safe.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/async.h"
#include "common/base/mutex.h"
#include "jobs/limits/limits.h"
#include "jobs/store/job_record.h"
#include "jobs/store/worker_list.h"

namespace tidemark::api {

struct Api;

enum class WaitReason : std::uint8_t {
  kNotBefore = 1,
  kNoWorker = 2,
  kQueuePaused = 3,
  kKindPaused = 4,
  kLimit = 5,
  kRetry = 6,
  kBusy = 7,
  kPoison = 8,
};

struct Wait {
  WaitReason reason{};
  std::string text;           // for people
  std::optional<Time> until;  // for kNotBefore
  void members(jobs::SpecMembers& to) const;
};

/// The reasons for which jobs cannot run at the moment.
struct Obstacles {
  std::map<std::string, jobs::Limit> limits;  // by limit_key
  std::map<std::string, std::uint32_t> held;  // slots, by limit_key
  std::vector<jobs::WorkerInfo> workers;      // live workers only
  std::vector<std::string> paused_queues;
};
/// Returns nothing if the job does not wait, or nothing is in its way. Pure.
std::optional<Wait> wait_of(const jobs::JobRecord& job, const Obstacles& obstacles, Time now);

class Waits {
 public:
  /// Returns null if the stores do not answer.
  Task<std::shared_ptr<const Obstacles>> obstacles(Api& api);

 private:
  Mutex mutex_;
  std::shared_ptr<const Obstacles> known_ GUARDED_BY(mutex_);
  Duration read_at_ GUARDED_BY(mutex_){};
};

/// Renders the job as the api shows it, with the member `waiting` if it waits.
Task<nlohmann::json> job_with_wait(Api& api, const jobs::JobRecord& job);
/// Likewise, and how far it has come if it is a transaction, which takes a call of the stores.
Task<nlohmann::json> job_in_full(Api& api, const jobs::JobRecord& job);

}  // namespace tidemark::api
