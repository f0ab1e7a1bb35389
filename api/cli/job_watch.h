// Following a job by its events: a bar on a terminal, plain lines elsewhere; and how a job is printed.
#pragma once
#include "api/cli/api_client.h"

namespace tidemark::cli {

/// One line.
std::string job_summary(const nlohmann::json& job);
/// With its history.
std::string job_details(const nlohmann::json& job);

/// Until its end; then prints it. kOk or kJobNotSucceeded.
Result<int> watch_job(const GlobalOptions& options, ApiClient& api, const std::string& id);
/// Until its end, with progress on standard error: the job as it ended.
Result<nlohmann::json> await_job(const GlobalOptions& options, ApiClient& api, const std::string& id);
/// A line for every change on standard output: JSON with --json, else a summary.
Result<int> follow_job(const GlobalOptions& options, const std::string& id);

}  // namespace tidemark::cli
