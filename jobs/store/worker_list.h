// The running workers: each writes a row of the jobs' table (PartitionKey 'workers', RowKey its name) every few
// seconds, and removes it when it stops. An old row belongs to a worker that died. Stateless.
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
  /// Tells whether it takes jobs from this queue.
  [[nodiscard]] bool serves(std::string_view queue) const;
};

inline constexpr std::tuple kWorkerFields{Field{"Host", &WorkerInfo::host},
                                          Field{"Pid", &WorkerInfo::pid},
                                          Field{"Concurrency", &WorkerInfo::concurrency},
                                          Field{"Running", &WorkerInfo::running},
                                          Field{"Version", &WorkerInfo::version},
                                          Field{"Queues", &WorkerInfo::queues, kSparse},
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
  /// `limit` 1..1000.
  Task<Result<WorkerPage>> list(std::uint32_t limit, std::string continuation);

 private:
  table_store::TableClient& tables_;
};

}  // namespace tidemark::jobs
