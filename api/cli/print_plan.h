// Prints the plan of a dry run, for a person or as JSON.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "api/cli/options.h"

namespace tidemark::cli {

/// Returns kFailed if the plan says that the job would fail.
int print_plan(const GlobalOptions& options, const nlohmann::json& plan);

}  // namespace tidemark::cli
