// Removes logs and rows of metrics that are older than their account keeps them. Only what is in the reserved container
// and tables, and has the name of such a thing, is ever removed. Coroutines on the caller's executor.
#pragma once
#include <string>

#include "workers/analytics/delivery.h"

namespace tidemark::workers {

class AnalyticsRetention {
 public:
  explicit AnalyticsRetention(AnalyticsLinks links) : links_(links) {}

  /// What of it is old by `now`; a bounded part of that, so it is to be called now and then.
  Task<Result<void>> remove_old(std::string service, analytics::AccountWants wants, Time now);

 private:
  Task<Result<void>> remove_logs(std::string service, std::string account, Time before);
  Task<Result<void>> remove_rows(std::string account, std::string table, Time before);

  AnalyticsLinks links_;
};

}  // namespace tidemark::workers
