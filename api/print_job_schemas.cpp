// Prints the schemas of jobs for openapi.json: scripts/describe-jobs.
#include <iostream>
#include <nlohmann/json.hpp>

#include "jobs/spec/job_schemas.h"

int main() { std::cout << tidemark::jobs::job_schemas().dump(1) << '\n'; }
