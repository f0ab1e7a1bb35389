// What /metrics says of indexes: of each its life, how far it is behind, and what its scrubs found.
#pragma once
#include <string>

#include "common/base/async.h"

namespace tidemark::api {

struct Api;

/// In the text exposition format; of the first hundred indexes by name.
Task<Result<std::string>> index_metrics(Api& api);

}  // namespace tidemark::api
