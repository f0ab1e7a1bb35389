// The options that describe a job, and the job made from them; for `job submit` and `schedule put`. They are made from
// the description of the members of each kind (jobs/spec/description.h).
#pragma once
#include <nlohmann/json.hpp>

#include <map>
#include <string>

#include "common/base/error.h"

namespace CLI {
class App;
}  // namespace CLI

namespace tidemark::cli {

struct JobArguments {
  std::string kind;
  std::map<std::string, nlohmann::json> given;  // by flag, as the job has them
};

/// Adds the kind as a positional argument; after it, --help shows only the options of that kind. The arguments must
/// live as long as the command.
void add_job_options(CLI::App& command, JobArguments& arguments);
/// Tells whether any of the options was given.
bool describes_job(const JobArguments& arguments);
/// kConfigInvalid if two options contradict each other.
Result<nlohmann::json> job_of(const JobArguments& arguments);

}  // namespace tidemark::cli
