// Knows the query parameters of each operation of the api: those of its description in openapi.json, and no others. A
// parameter that no handler reads, such as a misplaced dryRun, must not look as if it had been obeyed.
#pragma once
#include "api/rest/api_routes.h"

namespace tidemark::api {

/// kInvalidQueryParameterValue: a name that the route's description does not have.
Result<void> check_parameters(const Route& route, const http::Request& request);

}  // namespace tidemark::api
