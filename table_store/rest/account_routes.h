// Operations on the account: service properties, statistics, and CORS, which follows from the properties.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// GET and PUT ?restype=service&comp=properties, GET ?restype=service&comp=stats.
Task<Result<http::Response>> serve_account(Call& call);

/// OPTIONS, unauthenticated.
Task<Result<http::Response>> serve_preflight(Call& call);
/// Adds the CORS headers to the answer of a request with an Origin.
Task<void> add_cors_headers(Call& call, http::Response& response);

}  // namespace tidemark::table_store
