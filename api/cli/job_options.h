// The options that describe a job, and the job made from them; for `job submit` and `schedule put`.
#pragma once
#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace tidemark::cli {

struct JobArguments {
  std::string kind;
  std::string filter;
  std::map<std::string, nlohmann::json> given;  // by flag
  std::vector<std::string> headers;             // "Name: value"
  std::optional<std::string> body;              // JSON if it parses as such, else text
  std::string on_end;                           // URL
  CLI::Option* filter_option = nullptr;         // '' is a filter too
};

/// Adds the kind as a positional argument; after it, --help shows only the options of that kind. The arguments must
/// live as long as the command.
void add_job_options(CLI::App& command, JobArguments& arguments);
/// Tells whether any of the options was given.
bool describes_job(const JobArguments& arguments);
/// kConfigInvalid if two options contradict each other.
Result<nlohmann::json> job_of(const JobArguments& arguments);

}  // namespace tidemark::cli
