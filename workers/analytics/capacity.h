// Measures how much an account holds in the blob store and writes two rows a day to $MetricsCapacityBlob: one for the
// data of its users, one for the logs of storage analytics. Coroutines on the caller's executor.
#pragma once
#include <string>

#include "workers/analytics/delivery.h"

namespace tidemark::workers {

/// Writes the rows of the day, if they are not there yet. Reads the list of all blobs of the account, page by page.
Task<Result<void>> note_capacity(AnalyticsLinks links, std::string account, Time now);

}  // namespace tidemark::workers
