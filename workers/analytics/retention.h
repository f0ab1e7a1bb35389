// Removes logs and metrics rows that are older than their account's retention. It only ever removes objects in the
// reserved container and tables whose names have the form of a log or of such a row. Coroutines on the caller's
// executor.
#pragma once
#include <string>

#include "workers/analytics/delivery.h"

namespace tidemark::workers {

class AnalyticsRetention {
 public:
  explicit AnalyticsRetention(AnalyticsLinks links) : links_(links) {}

  /// Removes logs and rows that are too old at `now`. One call removes a bounded number of them, so call it regularly.
  Task<Result<void>> remove_old(std::string service, analytics::AccountWants wants, Time now);

 private:
  Task<Result<void>> remove_logs(std::string service, std::string account, Time before);
  Task<Result<void>> remove_rows(std::string account, std::string table, Time before);

  AnalyticsLinks links_;
};

}  // namespace tidemark::workers
