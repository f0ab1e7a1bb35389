// Operations on the account: service properties and statistics.
#pragma once
#include "table_store/rest/table_call.h"

namespace tidemark::table_store {

/// GET and PUT ?restype=service&comp=properties, GET ?restype=service&comp=stats.
Task<Result<http::Response>> serve_account(Call& call);

}  // namespace tidemark::table_store
