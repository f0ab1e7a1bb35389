// Takes what a store has recorded about its requests (common/analytics) to where users find it: logs to the container
// $logs, rows to the metrics tables. Everything may be done twice and by several workers at once: a log has its name
// and text before it leaves its store, and a row is a sum with a version, which a lower one never replaces.
// Coroutines on the caller's executor.
#pragma once
#include <set>
#include <string>

#include "blob_store/client/blob_calls.h"
#include "common/analytics/analytics_calls.h"
#include "common/rpc/call.h"
#include "table_store/client/table_calls.h"

namespace tidemark::workers {

/// Of each call of analytics to a store.
inline constexpr Duration kDeadline = std::chrono::seconds(20);

/// What all parts of analytics write to, as whichever account they belong to.
struct AnalyticsLinks {
  rpc::Transport& blobs;
  rpc::Transport& tables;
};

class AnalyticsDelivery {
 public:
  explicit AnalyticsDelivery(AnalyticsLinks links) : links_(links) {}

  /// Delivers all of it, and makes what an account needs for what it wants. `service`: whose requests these were.
  Task<Result<void>> deliver(std::string service, const analytics::Collected& collected);

 private:
  Task<Result<void>> prepare(std::string service, analytics::AccountWants wants);
  Task<Result<void>> ensure_container(std::string account);
  Task<Result<void>> ensure_table(std::string account, std::string table);
  Task<Result<void>> put_log(std::string service, analytics::LogBatch batch);
  Task<Result<void>> put_rows(std::string service, const std::vector<analytics::MetricsRow>& rows);

  AnalyticsLinks links_;
  std::set<std::pair<std::string, std::string>> there_;  // containers and tables of accounts
};

/// Under which workers write logs; no attempt replaces another.
Fence analytics_fence();
/// Logs are written once, so all have the same version.
inline constexpr std::int64_t kLogSourceVersion = 1;

}  // namespace tidemark::workers
