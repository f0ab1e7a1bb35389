// How far behind consumer groups and what follows changes are, for /metrics.
#pragma once
#include <string>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

/// In the text exposition format.
Task<Result<std::string>> feed_metrics(Api& api);

}  // namespace tidemark::api
