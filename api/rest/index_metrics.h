// What /metrics says of indexes: of each its life, how far it is behind, and what its scrubs found. The figures are in
// the table store; whatever cannot be read is left out.
#pragma once
#include <string>

#include "api/rest/api_routes.h"

namespace tidemark::api {

/// In the text exposition format; of the first hundred indexes by name.
Task<std::string> index_metrics(Api& api);

}  // namespace tidemark::api
