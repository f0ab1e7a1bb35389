// The running workers: each writes a row of the jobs' table (PartitionKey 'workers', RowKey its name) every few
// seconds, and removes it when it stops. An old row belongs to a worker that died. Those of users' own have "own:"
// before their names, and the api writes their rows. Stateless.
#pragma once
#include <string>
#include <vector>

#include "common/base/async.h"
#include "jobs/store/fields.h"
#include "table_store/client/table_client.h"

namespace tidemark::jobs {

inline constexpr Duration kHeartbeatInterval = std::chrono::seconds(5);
inline constexpr Duration kHeartbeatLost = std::chrono::seconds(20);

struct WorkerInfo {
  std::string name;
  std::string host;
  std::int64_t pid = 0;
  std::int32_t concurrency = 0;
  std::int32_t running = 0;
  std::string version;
  std::string queues;  // the queues that it takes jobs from, separated by commas
  Time started_at{};
  Time heartbeat_at{};
  bool own = false;    // a worker of a user's own, which claims jobs over HTTP
  bool quiet = false;  // an operator has asked it to take nothing more
  /// Tells whether it takes jobs from this queue.
  [[nodiscard]] bool serves(std::string_view queue) const;
};

inline constexpr std::tuple kWorkerFields{Field{"Host", &WorkerInfo::host},
                                          Field{"Pid", &WorkerInfo::pid},
                                          Field{"Concurrency", &WorkerInfo::concurrency},
                                          Field{"Running", &WorkerInfo::running},
                                          Field{"Version", &WorkerInfo::version},
                                          Field{"Queues", &WorkerInfo::queues, kSparse},
                                          Field{"Quiet", &WorkerInfo::quiet, kSparse},
                                          Field{"StartedAt", &WorkerInfo::started_at},
                                          Field{"HeartbeatAt", &WorkerInfo::heartbeat_at}};

struct WorkerPage {
  std::vector<WorkerInfo> workers;  // by name
  std::string continuation;         // empty at the end
};

class WorkerList {
 public:
  explicit WorkerList(table_store::TableClient& tables) : tables_(tables) {}
  Task<Result<void>> beat(WorkerInfo info);
  Task<Result<void>> leave(std::string name);
  /// Likewise for a worker of a user's own; whether it is quiet stays.
  Task<Result<void>> beat_own(WorkerInfo info);
  /// Notes that such a worker, if it is known, is alive.
  Task<Result<void>> touch_own(std::string name, Time at);
  /// Returns false if no such worker is known.
  Task<Result<bool>> set_quiet(std::string name, bool quiet);
  /// `limit` 1..1000.
  Task<Result<WorkerPage>> list(std::uint32_t limit, std::string continuation);

 private:
  table_store::TableClient& tables_;
};

}  // namespace tidemark::jobs
