// The lag of consumer groups and on-change declarations, for /metrics.
#pragma once
#include <string>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

/// Returns it in the text exposition format.
Task<Result<std::string>> feed_metrics(Api& api);

}  // namespace tidemark::api
