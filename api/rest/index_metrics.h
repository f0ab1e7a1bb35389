// The metrics of indexes for /metrics: for each one its state, its lag, and the findings of its scrubs.
#pragma once
#include <string>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

/// Returns them in the text exposition format; for the first hundred indexes by name.
Task<Result<std::string>> index_metrics(Api& api);

}  // namespace tidemark::api
