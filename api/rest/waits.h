// Why a queued job does not run yet, for whoever looks at it: told from what the workers go by, which are the limits
// and who holds their slots, the state of the queues, and the heartbeats. What was read serves everybody for a second.
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
};

struct Wait {
  WaitReason reason{};
  std::string text;           // for people
  std::optional<Time> until;  // of kNotBefore
};
/// {"reason","text","until"?}
nlohmann::json to_json(const Wait& wait);

/// What holds jobs up at the moment.
struct Obstacles {
  std::map<std::string, jobs::Limit> limits;  // by limit_key
  std::map<std::string, std::uint32_t> held;  // slots, by limit_key
  std::vector<jobs::WorkerInfo> workers;      // those that live
  std::vector<std::string> paused_queues;
};
/// Nothing if the job does not wait, or nothing is in its way. Pure.
std::optional<Wait> wait_of(const jobs::JobRecord& job, const Obstacles& obstacles, Time now);

class Waits {
 public:
  /// Null if the stores do not answer.
  Task<std::shared_ptr<const Obstacles>> obstacles(Api& api);

 private:
  Mutex mutex_;
  std::shared_ptr<const Obstacles> known_ GUARDED_BY(mutex_);
  Duration read_at_ GUARDED_BY(mutex_){};
};

/// The job as the api shows it, with the member `waiting` if it waits.
Task<nlohmann::json> job_with_wait(Api& api, const jobs::JobRecord& job);

}  // namespace tidemark::api
