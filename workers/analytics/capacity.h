// How much an account has in the blob store: two rows a day in $MetricsCapacityBlob, one of what users put there and
// one of the logs of storage analytics. Coroutines on the caller's executor.
#pragma once
#include <string>

#include "workers/analytics/delivery.h"

namespace tidemark::workers {

/// Writes the rows of the day, if they are not there yet. Looks at every blob of the account, page by page.
Task<Result<void>> note_capacity(AnalyticsLinks links, std::string account, Time now);

}  // namespace tidemark::workers
