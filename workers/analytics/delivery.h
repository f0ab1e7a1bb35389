// Takes the records that a store keeps of its requests (common/analytics) to the places where users find them: logs to
// the container $logs, rows to the metrics tables. Every step may be done twice, and by several workers at once: a log
// has its name and text before it leaves its store, and a row is a sum with a version, which a lower version never
// replaces.
// Coroutines on the caller's executor.
#pragma once
#include <set>
#include <string>

#include "blob_store/client/blob_calls.h"
#include "common/analytics/analytics_calls.h"
#include "common/rpc/call.h"
#include "table_store/client/table_calls.h"

namespace tidemark::workers {

/// The deadline of each call of analytics to a store.
inline constexpr Duration kDeadline = std::chrono::seconds(20);

/// The stores that all parts of analytics write to, in the name of the account concerned.
struct AnalyticsLinks {
  rpc::Transport& blobs;
  rpc::Transport& tables;
};

class AnalyticsDelivery {
 public:
  explicit AnalyticsDelivery(AnalyticsLinks links) : links_(links) {}

  /// Delivers everything, and creates the container and the tables that the account's settings require. `service`: the
  /// service that received the requests.
  Task<Result<void>> deliver(std::string service, const analytics::Collected& collected);

 private:
  Task<Result<void>> prepare(std::string service, analytics::AccountWants wants);
  Task<Result<void>> ensure_container(std::string account);
  Task<Result<void>> ensure_table(std::string account, std::string table);
  Task<Result<void>> put_log(std::string service, analytics::LogBatch batch);
  Task<Result<void>> put_rows(std::string service, const std::vector<analytics::MetricsRow>& rows);

  AnalyticsLinks links_;
  std::set<std::pair<std::string, std::string>> there_;  // containers and tables that are known to exist, by account
};

/// The fence under which workers write logs; no attempt replaces another.
Fence analytics_fence();
/// A log is written once, so all logs have the same version.
inline constexpr std::int64_t kLogSourceVersion = 1;

}  // namespace tidemark::workers
