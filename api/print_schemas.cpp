// Prints the schemas of bodies and answers for openapi.json: scripts/describe-api.
#include <iostream>
#include <nlohmann/json.hpp>

#include "api/rest/api_routes.h"

int main() { std::cout << tidemark::api::api_schemas().dump(1) << '\n'; }
